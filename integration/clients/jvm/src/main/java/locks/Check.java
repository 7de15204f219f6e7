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

    /** Waits until the condition holds. */
    static void eventually(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (!condition.call()) {
            that(System.nanoTime() < deadline, "waited in vain: " + what);
            Thread.sleep(5);
        }
    }

    /** Runs body in a thread of its own. */
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

    /** The result of a thread; what it threw is thrown here. */
    static <T> T await(CompletableFuture<T> result) throws Exception {
        try {
            return result.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof Exception cause) {
                throw cause;
            }
            throw new AssertionError(e.getCause());
        }
    }
}
