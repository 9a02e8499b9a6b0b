// SPDX-License-Identifier: GPL-2.0-only
import java.lang.invoke.*;
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.locks.*;
import java.util.function.*;

/**
 * A program whose stacks show a missing or doubled frame: each method of level n calls one of level
 * (n + 1) % 3. It allocates, throws, locks, copies, reflects, and loads a class repeatedly. Then
 * it waits, in an object, parked and asleep; or ends, with the second argument "end". With "virtual",
 * the threads are a hundred virtual ones, which also sleep and yield at any depth. With "replace", classes
 * take the place of others; with "free", they are freed; with "check", types are checked.
 */
public class Levels {
    public interface Step { int go(Run r, int n); }
    public static class Run {
        final Random random = new Random();
        int next(int n) { return random.nextInt(n); }
    }
    static final ReentrantLock lock = new ReentrantLock();
    static Object sink;
    public static volatile Step[] level0, level1, level2;
    static Method reflected;
    static MethodHandle handle;

    static boolean isVirtual;
    static void pause(Run r) {
        if (r.next(2) == 0)
            Thread.yield();
        else
            LockSupport.parkNanos(1000 * r.next(1000));
    }
    static int spin(Run r) {
        int k = r.next(2000), sum = 0;
        if (isVirtual && r.next(8) == 0)
            pause(r);
        for (int i = 0; i < k; i++)
            sum = sum * 31 + (i ^ sum >>> 3);
        return sum;
    }
    public static int call(Run r, int n, Step[] steps) { return n <= 0 ? spin(r) : steps[r.next(steps.length)].go(r, n - 1); }

    static class Plain0 implements Step { public int go(Run r, int n) { return call(r, n, level1) + 1; } }
    static class Twice0 implements Step { public int go(Run r, int n) { return call(r, n - 1, level1) + call(r, n - 4, level1); } }
    static class Lock0 implements Step {
        public int go(Run r, int n) {
            if ((n & 1) == 0) { synchronized (this) { return call(r, 1, level1); } }
            lock.lock();
            try { return call(r, 2, level1); } finally { lock.unlock(); }
        }
    }
    static class Catch0 implements Step {
        public int go(Run r, int n) {
            int result = 0;
            try { result = call(r, n, level1); if (result % 3 == 0) throw new IllegalStateException("x"); } catch (IllegalStateException e) { result++; }
            try { Object o = r.next(3) == 0 ? null : lock; result += o.hashCode(); } catch (NullPointerException e) { result--; }
            return result + call(r, n - 2, level1);
        }
    }
    static class Text1 implements Step {
        public int go(Run r, int n) {
            String s = n + "abcdefghijklmnopqrstuvwxyz" + r.next(100000);
            int result = s.indexOf("xyz") + s.hashCode() + s.toUpperCase().lastIndexOf('A') + s.replace('a', 'b').length();
            return result + call(r, n, level2);
        }
    }
    static class Sort1 implements Step {
        public int go(Run r, int n) {
            Integer[] a = new Integer[30];
            for (int i = 0; i < a.length; i++) a[i] = r.next(1000);
            Arrays.sort(a, (x, y) -> { if (r.next(50) == 0) spin(r); return x.compareTo(y); });
            return a[3] + call(r, n, level2);
        }
    }
    static class Copy1 implements Step {
        public int go(Run r, int n) {
            byte[] a = new byte[r.next(3000) + 10], b = new byte[a.length];
            Object[] c = new Object[r.next(300) + 1], d;
            System.arraycopy(a, 3, b, 1, a.length - 5);
            Arrays.fill(c, r);
            d = c.clone();
            System.arraycopy(c, 0, d, d.length / 2, d.length / 2);
            sink = d;
            return Arrays.equals(a, b) ? call(r, n, level2) : Arrays.hashCode(b);
        }
    }
    static class Math1 implements Step {
        public int go(Run r, int n) { double x = n + r.next(100); return (int) (Math.sin(x) * Math.pow(x, 1.3) + Math.log(x + 1) % 7 + Math.exp(-x)) + call(r, n, level2); }
    }
    static class Alloc2 implements Step {
        public int go(Run r, int n) {
            HashMap<Integer, Object> m = new HashMap<>();
            for (int i = 0; i < r.next(60); i++) m.put(i, i % 3 == 0 ? new byte[r.next(300)] : new int[][] { { 1, 2 }, { i } });
            return m.size() + call(r, n, level0);
        }
    }
    static class Big2 implements Step { public int go(Run r, int n) { return big(r, n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10); } }
    static int big(Run r, int n, int a, int b, int c, long d, long e, double f, double g, int h, int i, int j) {
        int x = call(r, n, level0);
        return (int) (a + b * x + c + d * x + e + f * x + g + h * x + i + j);
    }
    static class Reflect2 implements Step {
        public int go(Run r, int n) {
            try { return (Integer) reflected.invoke(null, r, n); } catch (ReflectiveOperationException e) { throw new Error(e); }
        }
    }
    public static int reflected(Run r, int n) { return call(r, n, level0); }
    static class Handle2 implements Step {
        public int go(Run r, int n) {
            try { return (int) handle.invokeExact(r, n); } catch (Throwable e) { throw new Error(e); }
        }
    }
    static int made0(Run r, int n) { return call(r, n, level1); }
    static int made1(Run r, int n) { return call(r, n, level2) + 1; }
    static int made2(Run r, int n) { return call(r, n, level0) + 2; }
    static int work(Run r, int n) { return call(r, n, level0); }

    /** Defines Fresh2 repeatedly: methods come and go, and so does compiled code that expected fewer classes. */
    static class Loader extends ClassLoader {
        Object make(String name, byte[] code) throws Exception {
            return defineClass(name, code, 0, code.length).getDeclaredConstructor().newInstance();
        }
    }
    static byte[] read(String name) throws Exception {
        try (java.io.InputStream in = Levels.class.getResourceAsStream(name + ".class")) {
            java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
            byte[] piece = new byte[4096];
            for (int n; (n = in.read(piece)) > 0;) out.write(piece, 0, n);
            return out.toByteArray();
        }
    }
    public static class Fresh2 implements Step { public int go(Run r, int n) { int x = call(r, n, level0); return x ^ x >>> 3; } }

    static void renew(long end) throws Exception {
        byte[] code = read("Levels$Fresh2");
        while (System.nanoTime() < end) {
            Step[] steps = level2.clone();
            steps[0] = (Step) new Loader().make("Levels$Fresh2", code);
            level2 = steps;
            Thread.sleep(30);
        }
    }

    /** Classes of which the later ones, with a method of another name, take the place of unloaded ones. */
    public static class Brief implements Runnable {
        void napEarly() { LockSupport.parkNanos(1000000); }
        public void run() { napEarly(); }
    }
    static void replace() throws Exception {
        byte[] early = read("Levels$Brief");
        byte[] later = new String(early, "ISO-8859-1").replace("napEarly", "napLater").getBytes("ISO-8859-1");
        for (int i = 0; i < 400; i++) {
            ((Runnable) new Loader().make("Levels$Brief", i < 200 ? early : later)).run();
            System.gc();
        }
    }

    /** Compiled with the method that it calls, and freed with it. */
    public static class Freed implements Runnable {
        static int sum;
        static int inner(int n) { return n * 31 ^ n >>> 3; }
        public void run() { for (int i = 0; i < 100000; i++) sum = inner(sum + i); }
    }
    static void free(long end) throws Exception {
        byte[] code = read("Levels$Freed");
        start("collector", () -> { for (;;) System.gc(); });
        while (System.nanoTime() < end) {
            Runnable freed = (Runnable) new Loader().make("Levels$Freed", code);
            for (int i = 0; i < 20; i++) freed.run();
        }
    }

    /** Methods whose code calls stubs that have no frame, in C1's code, and describes hardly an instruction. */
    static int kinds(Object o) {
        return (o instanceof Comparable ? 1 : 0) + (o instanceof CharSequence ? 2 : 0) + (o instanceof Cloneable ? 4 : 0) +
            (o instanceof List ? 8 : 0) + (o instanceof RandomAccess ? 16 : 0);
    }
    static final RuntimeException thrown = new RuntimeException();
    static int fail(int n) { if (n == 0) throw thrown; return fail(n - 1) + 1; }
    static int check(Object o, int n) { try { return kinds(o) + fail(n); } catch (RuntimeException e) { return n; } }
    static void check(long end) {
        Object[] objects = { "text", 1, new ArrayList<Object>(), new int[1], new HashMap<Object, Object>() };
        int sum = 0;
        for (int i = 0; System.nanoTime() < end; i++)
            for (Object o : objects) sum += kinds(o) + (i % 3 == 0 ? check(o, 5) : 0);
        sink = sum;
    }

    static synchronized void waitInObject() throws InterruptedException { Levels.class.wait(); }
    static void waitInPark() { for (;;) LockSupport.park(); }
    static void waitAsleep() throws InterruptedException { Thread.sleep(1000000); }

    interface Work { void run() throws Exception; }
    static Thread start(String name, Work work) {
        Thread thread = new Thread(() -> { try { work.run(); } catch (Exception e) { throw new Error(e); } }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** Works in virtual threads, whose interface is newer than the compiler may be. */
    static void workVirtually(Runnable work) throws Exception {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Method start = Class.forName("java.lang.Thread$Builder").getMethod("start", Runnable.class);
        Thread[] threads = new Thread[100];
        isVirtual = true;
        for (int i = 0; i < threads.length; i++)
            threads[i] = (Thread) start.invoke(builder, work);
        for (Thread thread : threads)
            thread.join();
    }

    /** Works for N seconds or longer, then waits for ever. */
    public static void main(String[] args) throws Exception {
        if (args[0].equals("replace")) {
            replace();
            return;
        }
        if (args[0].equals("free")) {
            free(System.nanoTime() + 4000000000L);
            return;
        }
        if (args[0].equals("check")) {
            long last = System.nanoTime() + 3000000000L;
            start("check", () -> check(last)).join();
            return;
        }
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        reflected = Levels.class.getMethod("reflected", Run.class, int.class);
        handle = MethodHandles.lookup().findStatic(Levels.class, "reflected",
                                                   MethodType.methodType(int.class, Run.class, int.class));
        level0 = new Step[] { new Plain0(), new Twice0(), new Lock0(), new Catch0(), (r, n) -> made0(r, n) };
        level1 = new Step[] { new Text1(), new Sort1(), new Copy1(), new Math1(), (r, n) -> made1(r, n) };
        level2 = new Step[] { new Fresh2(), new Alloc2(), new Big2(), new Reflect2(), new Handle2(), (r, n) -> made2(r, n) };
        start("renewer", () -> renew(end));
        boolean areVirtual = args.length > 1 && args[1].equals("virtual");
        int least = areVirtual ? 20 : 2000; // for machines on which the time is only enough to begin
        Runnable rounds = () -> {
            Run r = new Run();
            for (int i = 0; i < least || System.nanoTime() < end; i++) work(r, 4 + r.next(14));
        };
        if (areVirtual) {
            workVirtually(rounds);
            return;
        }
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++)
            threads[i] = start("levels-" + i, () -> rounds.run());
        for (Thread thread : threads)
            thread.join();
        if (args.length > 1)
            return;
        start("object", () -> waitInObject());
        start("park", () -> waitInPark());
        Thread.sleep(100);
        System.out.println("@waiting");
        waitAsleep();
    }
}
