// SPDX-License-Identifier: GPL-2.0-only
// Calls of many kinds. Functions named f<number>_ keep a shadow of the stack in shared memory: see
// oracle.c, which stops the program at any instruction and compares.
import { Worker, isMainThread, threadId } from 'node:worker_threads';
import vm from 'node:vm';

const S = new Int32Array(new SharedArrayBuffer(16384));
const begin = (id) => { const d = S[4]; S[8 + d] = id; S[4] = d + 1; };
const end = (value) => { S[4]--; return value; };
S[5] = threadId;

function work(n) { let x = n | 1; for (let i = 0; i < n; i++) x = (x * 1664525 + 1013904223) & 0x7fffffff; return x; }

// plain, recursive, mutually recursive, closures, default and rest parameters
function f1_ackermann(m, n) { begin(1); return end(m === 0 ? n + 1 : n === 0 ? f1_ackermann(m - 1, 1) : f1_ackermann(m - 1, f1_ackermann(m, n - 1))); }
function f2_even(n) { begin(2); return end(n === 0 || f3_odd(n - 1)); }
function f3_odd(n) { begin(3); return end(n !== 0 && f2_even(n - 1)); }
const f4_curry = (a) => { begin(4); const f5_inner = (b) => { begin(5); return end(work(a + b)); }; return end(f5_inner); };
const f5_named = function f5_named(a, b = work(a), ...rest) { begin(5); return end(work((a + rest.length) & 63) ^ b); };
function f6_small(n) { begin(6); return end(n * 3 + 1); }
function f7_loop(n) { begin(7); let t = 0; for (let i = 0; i < 40; i++) t += f6_small(i) + f8_middle(i, n); return end(t); }
function f8_middle(i, n) { begin(8); const r = i & 3 ? f6_small(i) : work((i + n) & 31); return end(r); }

// classes: fields, private members, accessors, super, static blocks
class Node_ {
  #weight = 1;
  constructor(value) { begin(10); this.value = value; this.#weight = work(3); end(); }
  f11_visit(depth) { begin(11); return end(depth ? this.f12_child().f11_visit(depth - 1) : this.#f13_secret()); }
  f12_child() { begin(12); return end(new Leaf_(this.value + 1)); }
  #f13_secret() { begin(13); return end(work(this.#weight & 15)); }
  get f14_size() { begin(14); return end(work(this.value & 15)); }
  set f15_size(v) { begin(15); this.value = v; work(v & 7); end(); }
  static f16_make(n) { begin(16); const a = new Leaf_(n & 31); a.f15_size = n & 7; return end(a.f11_visit(3) + a.f14_size); }
}
class Leaf_ extends Node_ {
  f11_visit(depth) { begin(17); return end(super.f11_visit(depth)); }
}

// builtins that call back
function f20_sorted(n) { begin(20); const a = Array.from({ length: 16 }, function f21_fill(_, i) { begin(21); return end((i * 7919 + n) % 97); }); a.sort(function f22_compare(x, y) { begin(22); work(4); return end(x - y); }); return end(a[0]); }
function f23_chain(n) { begin(23); const r = [1, 2, 3, 4, 5, 6].map(function f24_map(x) { begin(24); return end(work(x + (n & 7))); }).filter(function f25_filter(x) { begin(25); return end(x & 1); }).reduce(function f26_sum(a, b) { begin(26); return end(a ^ b); }, 0); return end(r); }
function f27_replace(n) { begin(27); const r = 'alpha beta gamma delta'.replace(/(\w)(\w+)/g, function f28_upper(_, a, b) { begin(28); work(n & 7); return end(a.toUpperCase() + b); }); return end(r.length); }
const source = JSON.stringify({ a: [1, { b: 2 }], c: 'd' });
function f29_json(n) { begin(29); const o = JSON.parse(source, function f30_revive(k, v) { begin(30); work(3); return end(v); }); const s = JSON.stringify({ toJSON: function f31_toJSON() { begin(31); work(n & 7); return end(o); } }); return end(s.length); }
const trapped = new Proxy({}, { get: function f32_get(t, k) { begin(32); return end(work(5)); }, has: function f33_has() { begin(33); work(2); return end(true); } });
function f34_traps(n) { begin(34); return end(trapped.a + ('b' in trapped) + n); }
const primitive = { [Symbol.toPrimitive]: function f35_primitive(hint) { begin(35); work(3); return end(hint === 'string' ? 's' : 4); } };
function f36_coerce(n) { begin(36); return end(`${primitive}`.length + +primitive + n); }
function f37_apply(n) { begin(37); return end(f6_small.apply(null, [n]) + Reflect.apply(f5_named, null, [n & 7, 2]) + f5_named.bind(null, 3)(4) + Reflect.construct(Leaf_, [n & 3]).value); }
function f38_collections(n) { begin(38); const m = new Map(); for (let i = 0; i < 20; i++) m.set(i, i); let t = 0; m.forEach(function f39_each(v) { begin(39); t += work(v & 3); end(); }); return end(t + new Set(m.keys()).size); }
function f40_throws(n) { begin(40); try { f41_thrower(n); } catch (e) { work(3); } finally { work(2); } return end(n); }
function f41_thrower(n) { begin(41); work(n & 3); end(); throw new RangeError('x'); }
function f42_garbage(n) { begin(42); let a = []; for (let i = 0; i < 200; i++) a.push({ i, s: 'k' + (i ^ n), f: () => i }); return end(a.length); }
function f43_spread(n) { begin(43); return end(Math.max(...[f6_small(n), ...[1, 2, work(3)]])); }
function f44_switch(n) { begin(44); let r; switch (n % 5) { case 0: r = f6_small(n); break; case 1: r = f1_ackermann(1, n % 4); break; case 2: r = f2_even(n % 9); break; case 3: r = f5_named(n & 7); break; default: r = f43_spread(n & 7); } return end(r); }
function f45_big(n) { begin(45); let a = 1n; for (let i = 1n; i < 30n; i++) a = a * i + BigInt(n); return end(Number(a & 7n)); }

// generators, iterators
function* f50_counter(n) { begin(50); for (let i = 0; i < n; i++) { work(4); end(); yield i; begin(50); } end(); }
function f51_consume(n) { begin(51); let t = 0; for (const x of f50_counter(4)) t += work(x); const [p, q] = f50_counter(3); return end(t + p + q + n); }
class Range_ { constructor(n) { this.n = n; } [Symbol.iterator]() { let i = 0; const n = this.n; return { next: function f52_next() { begin(52); work(2); return end({ value: i, done: i++ >= n }); } }; } }
function f53_iterate(n) { begin(53); let t = 0; for (const x of new Range_(5)) t += x; return end(t + n); }

// eval, Function, another context, names that are not ASCII
const f60_source = (0, eval)('(function f60_evaled(n) { begin(60); return end(work(n & 31)); })'.replace('begin(60)', 'globalThis.__b(60)').replace('end(', 'globalThis.__e(').replace('work', 'globalThis.__w'));
Object.assign(globalThis, { __b: begin, __e: end, __w: work });
const f61_source = new Function('n', 'return (function f61_made(n) { __b(61); return __e(__w(n & 15)); })(n)');
const f62_source = vm.runInContext('(function f62_context(n) { b(62); return e(w(n & 15)); })', vm.createContext({ b: begin, e: end, w: work }), { filename: 'context.js' });
const f63_ünïcode_名 = (n) => { begin(63); return end(work(n & 15)); };
function f64_evals(n) { begin(64); return end(f60_source(n) + f61_source(n) + f62_source(n) + f63_ünïcode_名(n)); }
let cold = 0;
function f65_cold(n) { begin(65); const id = 2000 + (cold++ % 300); const f = new Function('n', `return (function f${id}_cold(n) { __b(${id}); let t = 0; for (let i = 0; i < ${20 + (n % 4) * 40}; i++) t ^= __w(i & 15); return __e(t); })(n)`); return end(f(n)); }

// WebAssembly: an import f (i32) -> i32, and run(n) = f(n) + n
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 127, 1, 127, 2, 7, 1, 1, 109, 1, 102, 0, 0, 3, 2, 1, 0, 7, 7, 1, 3, 114, 117, 110, 0, 1, 10, 11, 1, 9, 0, 32, 0, 16, 0, 32, 0, 106, 11]);
const run = typeof WebAssembly === 'undefined' ? (n) => n
  : new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { f: function f70_import(n) { begin(70); return end(work(n & 15) & 255); } } }).exports.run;
function f71_wasm(n) { begin(71); return end(run(n)); }

// promises, async generators, timers
async function f80_async(n) { begin(80); work(n & 15); end(); await null; begin(80); const p = f81_inner(n); end(); await p; begin(80); work(9); end(); }
async function f81_inner(n) { begin(81); work(9); end(); await 0; begin(81); f7_loop(n); end(); }
async function* f82_stream(n) { for (let i = 0; i < n; i++) { begin(82); work(9); end(); yield i; } }
function f83_then(n) { begin(83); return end(work(n & 31)); }
function f84_tick() { begin(84); work(9); end(); }
function f85_timer() { begin(85); f44_switch(3); end(); }

const all = [(n) => f1_ackermann(2, n % 4), (n) => f2_even(n % 40), (n) => f4_curry(n & 7)(9), f7_loop, Node_.f16_make, f20_sorted, f23_chain, f27_replace, f29_json,
  f34_traps, f36_coerce, f37_apply, f38_collections, f40_throws, f42_garbage, f44_switch, f45_big, f51_consume, f53_iterate, f64_evals, f71_wasm];
function f90_round(n) { begin(90); let t = 0; for (const f of all) t ^= f(n); return end(t); }
Object.assign(globalThis, { __round: f90_round, __cold: f65_cold });
// each thread has an outermost function of its own, which says whose shadow is right
const outer = (0, eval)(`(function thread${threadId}_outer(n) { return n % 8 ? __round(n) : __cold(n); })`);

if (isMainThread) for (let i = 0; i < +(process.env.WORKERS || 0); i++) new Worker(new URL(import.meta.url));
S.set([0x7ac3e1e7, 0x5ad05eed, 0x0c0ffee0, 0x13579bdf]);
for (let n = 0; ; n++) {
  for (let i = 0; i < 50; i++) outer(n + i);
  await f80_async(n);
  for await (const x of f82_stream(3)) f83_then(x);
  await Promise.resolve(n).then(f83_then);
  process.nextTick(f84_tick);
  await new Promise((done) => setTimeout(() => { f85_timer(); done(); }, 0));
}
