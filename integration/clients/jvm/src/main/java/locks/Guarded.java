package locks;

import java.util.concurrent.atomic.AtomicInteger;

/** A counter that notices two users at once, and loses updates but for the lock. */
final class Guarded {
    private final AtomicInteger inside = new AtomicInteger();
    private volatile int count;

    void use() throws InterruptedException {
        Check.equal(1, inside.incrementAndGet(), "owners inside");
        int seen = count;
        Thread.sleep(1);
        count = seen + 1;
        inside.decrementAndGet();
    }

    int count() {
        return count;
    }
}
