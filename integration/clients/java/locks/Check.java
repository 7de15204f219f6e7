package locks;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** Assertions and waits of the cases. */
final class Check {
    /** Bound of every wait for something that is due at once, in ms: generous, as the machine may be busy. */
    static final long PATIENCE_MS = 20_000;

    private Check() {
    }

    static void that(boolean holds, String message) {
        if (!holds) {
            throw new AssertionError(message);
        }
    }

    static void equal(Object want, Object got, String what) {
        that(want.equals(got), what + ": want " + want + ", got " + got);
    }

    /** Fails unless body throws exactly this kind of exception. */
    static void rejects(Class<? extends Exception> kind, String what, Callable<?> body) throws Exception {
        try {
            body.call();
        } catch (Exception e) {
            that(kind.isInstance(e), what + ": want " + kind.getSimpleName() + ", got " + e);
            return;
        }
        throw new AssertionError(what + ": want " + kind.getSimpleName() + ", got no exception");
    }

    /** Waits for the condition, at most PATIENCE_MS. */
    static void eventually(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (!condition.call()) {
            that(System.nanoTime() < deadline, "waited in vain: " + what);
            Thread.sleep(5);
        }
    }

    /** Runs body in a thread of its own, thus as another owner of the same client. */
    static <T> CompletableFuture<T> inThread(Callable<T> body) {
        CompletableFuture<T> result = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                result.complete(body.call());
            } catch (Throwable t) {
                result.completeExceptionally(t);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return result;
    }

    /** The result of a thread; its exception is thrown here. */
    static <T> T await(CompletableFuture<T> result) throws Exception {
        try {
            return result.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw e;
        }
    }

    static <T> T elsewhere(Callable<T> body) throws Exception {
        return await(inThread(body));
    }

    static long elapsedMs(long startNanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
    }
}
