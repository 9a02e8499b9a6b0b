// SPDX-License-Identifier: GPL-2.0-only
// A compiler of expressions and a machine that runs them: deep recursion, small methods that are
// inlined, megamorphic calls. Keeps a shadow of the stack, see calls.mjs.
import { threadId } from 'node:worker_threads';

const S = new Int32Array(new SharedArrayBuffer(16384));
S[5] = threadId;

class Lexer {
  constructor(text) { const d = S[4]; S[8 + d] = 100; S[4] = d + 1; this.text = text; this.at = 0; this.token = this.f101_next(); S[4]--; }
  f101_next() {
    const d = S[4]; S[8 + d] = 101; S[4] = d + 1;
    while (this.f102_space(this.text.charCodeAt(this.at))) this.at++;
    const from = this.at;
    while (this.f103_digit(this.text.charCodeAt(this.at))) this.at++;
    const token = from < this.at ? this.text.slice(from, this.at) : this.text[this.at++];
    S[4]--;
    return token;
  }
  f102_space(c) { const d = S[4]; S[8 + d] = 102; S[4] = d + 1; const r = c === 32; S[4]--; return r; }
  f103_digit(c) { const d = S[4]; S[8 + d] = 103; S[4] = d + 1; const r = c >= 48 && c < 58; S[4]--; return r; }
  f104_take() { const d = S[4]; S[8 + d] = 104; S[4] = d + 1; const t = this.token; this.token = this.f101_next(); S[4]--; return t; }
}

class Num { constructor(v) { this.v = v; } f110_eval(env) { const d = S[4]; S[8 + d] = 110; S[4] = d + 1; const r = this.v; S[4]--; return r; } f111_cost() { const d = S[4]; S[8 + d] = 111; S[4] = d + 1; S[4]--; return 1; } }
class Var { f110_eval(env) { const d = S[4]; S[8 + d] = 112; S[4] = d + 1; const r = env.x; S[4]--; return r; } f111_cost() { const d = S[4]; S[8 + d] = 113; S[4] = d + 1; S[4]--; return 2; } }
class Neg { constructor(e) { this.e = e; } f110_eval(env) { const d = S[4]; S[8 + d] = 114; S[4] = d + 1; const r = -this.e.f110_eval(env); S[4]--; return r; } f111_cost() { const d = S[4]; S[8 + d] = 115; S[4] = d + 1; const r = 1 + this.e.f111_cost(); S[4]--; return r; } }
class Binary {
  constructor(op, a, b) { this.op = op; this.a = a; this.b = b; }
  f110_eval(env) { const d = S[4]; S[8 + d] = 116; S[4] = d + 1; const r = operators[this.op](this.a.f110_eval(env), this.b.f110_eval(env)); S[4]--; return r; }
  f111_cost() { const d = S[4]; S[8 + d] = 117; S[4] = d + 1; const r = this.a.f111_cost() + this.b.f111_cost(); S[4]--; return r; }
}
const operators = {
  '+': function f120_add(a, b) { const d = S[4]; S[8 + d] = 120; S[4] = d + 1; const r = (a + b) | 0; S[4]--; return r; },
  '-': function f121_sub(a, b) { const d = S[4]; S[8 + d] = 121; S[4] = d + 1; const r = (a - b) | 0; S[4]--; return r; },
  '*': function f122_mul(a, b) { const d = S[4]; S[8 + d] = 122; S[4] = d + 1; const r = Math.imul(a, b); S[4]--; return r; },
};

function f130_expression(lexer, level) {
  const d = S[4]; S[8 + d] = 130; S[4] = d + 1;
  let left = level ? f131_unary(lexer) : f130_expression(lexer, 1);
  while (level ? lexer.token === '*' : lexer.token === '+' || lexer.token === '-') {
    const op = lexer.f104_take();
    left = new Binary(op, left, level ? f131_unary(lexer) : f130_expression(lexer, 1));
  }
  S[4]--;
  return left;
}
function f131_unary(lexer) {
  const d = S[4]; S[8 + d] = 131; S[4] = d + 1;
  let r;
  if (lexer.token === '-') { lexer.f104_take(); r = new Neg(f131_unary(lexer)); } else r = f132_atom(lexer);
  S[4]--;
  return r;
}
function f132_atom(lexer) {
  const d = S[4]; S[8 + d] = 132; S[4] = d + 1;
  const t = lexer.f104_take();
  let r;
  if (t === '(') { r = f130_expression(lexer, 0); lexer.f104_take(); } else r = t === 'x' ? new Var() : new Num(parseInt(t, 10));
  S[4]--;
  return r;
}

// code for a stack machine, and closures instead of a tree
function f140_emit(node, out) {
  const d = S[4]; S[8 + d] = 140; S[4] = d + 1;
  if (node instanceof Binary) { f140_emit(node.a, out); f140_emit(node.b, out); out.push(node.op); } else if (node instanceof Neg) { f140_emit(node.e, out); out.push('n'); } else out.push(node.v === undefined ? 'x' : node.v);
  S[4]--;
}
function f141_run(code, env) {
  const d = S[4]; S[8 + d] = 141; S[4] = d + 1;
  const stack = [];
  for (const c of code) {
    if (c === 'n') stack.push(-stack.pop());
    else if (c === 'x') stack.push(env.x);
    else if (typeof c === 'number') stack.push(c);
    else { const b = stack.pop(), a = stack.pop(); stack.push(operators[c](a, b)); }
  }
  S[4]--;
  return stack[0];
}
function f142_closure(node) {
  const d = S[4]; S[8 + d] = 142; S[4] = d + 1;
  let r;
  if (node instanceof Binary) { const a = f142_closure(node.a), b = f142_closure(node.b), op = operators[node.op]; r = function f143_binary(env) { const e = S[4]; S[8 + e] = 143; S[4] = e + 1; const v = op(a(env), b(env)); S[4]--; return v; }; }
  else if (node instanceof Neg) { const a = f142_closure(node.e); r = function f144_negate(env) { const e = S[4]; S[8 + e] = 144; S[4] = e + 1; const v = -a(env); S[4]--; return v; }; }
  else r = node.v === undefined ? function f145_variable(env) { const e = S[4]; S[8 + e] = 145; S[4] = e + 1; S[4]--; return env.x; } : function f146_number() { const e = S[4]; S[8 + e] = 146; S[4] = e + 1; S[4]--; return node.v; };
  S[4]--;
  return r;
}

let seed = 1;
function f150_random(n) { const d = S[4]; S[8 + d] = 150; S[4] = d + 1; seed = (seed * 48271) % 0x7fffffff; S[4]--; return seed % n; }
function f151_text(depth) {
  const d = S[4]; S[8 + d] = 151; S[4] = d + 1;
  let r;
  if (!depth || f150_random(5) === 0) r = f150_random(2) ? 'x' : String(f150_random(100));
  else if (f150_random(4) === 0) r = '-' + f151_text(depth - 1);
  else r = '(' + f151_text(depth - 1) + ' ' + '+-*'[f150_random(3)] + ' ' + f151_text(depth - 1) + ')';
  S[4]--;
  return r;
}
function f152_round(n) {
  const d = S[4]; S[8 + d] = 152; S[4] = d + 1;
  const tree = f130_expression(new Lexer(f151_text(7)), 0), code = [], closure = f142_closure(tree);
  f140_emit(tree, code);
  let wrong = 0;
  for (let x = 0; x < 20; x++) { const env = { x }, v = tree.f110_eval(env); wrong += v !== f141_run(code, env) || v !== closure(env); }
  wrong += tree.f111_cost() + n;
  S[4]--;
  return wrong;
}

function thread0_outer(n) { return f152_round(n); }
S.set([0x7ac3e1e7, 0x5ad05eed, 0x0c0ffee0, 0x13579bdf]);
for (let n = 0; ; n++) thread0_outer(n);
