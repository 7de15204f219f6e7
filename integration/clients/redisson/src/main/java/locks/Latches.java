package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RedissonClient;

/** Cases of RCountDownLatch. */
final class Latches {
    private final LockSuite suite;

    Latches(LockSuite suite) {
        this.suite = suite;
    }

    void register() {
        suite.add("latch-counts", this::counts);
        suite.add("latch-wakes", this::wakes);
        suite.add("latch-waits-in-vain", this::waitsInVain);
        suite.add("latch-deleted", this::deleted);
    }

    private static String channel(String name) {
        return "redisson_countdownlatch__channel__{" + name + "}";
    }

    private String counts() throws Exception {
        RCountDownLatch one = suite.first.getCountDownLatch(suite.key("latch"));
        RCountDownLatch two = suite.second.getCountDownLatch(one.getName());
        Check.that(one.await(100, MILLISECONDS), "waited for a latch without a count");
        Check.that(one.trySetCount(3), "trySetCount was refused");
        Check.that(!two.trySetCount(5), "trySetCount was granted twice");
        for (long left = 2; left >= 0; left--) {
            (left % 2 == 0 ? one : two).countDown();
            Check.equal(left, two.getCount(), "count");
        }
        Check.that(!one.isExists(), "a latch at zero is still there");
        two.countDown();
        Check.equal(0L, one.getCount(), "count below zero");
        Check.that(two.trySetCount(1), "a latch cannot be used again");
        one.countDown();
        return "";
    }

    private String wakes() throws Exception {
        RCountDownLatch latch = suite.first.getCountDownLatch(suite.key("latch-wakes"));
        latch.trySetCount(2);
        List<CompletableFuture<Boolean>> waiters = new ArrayList<>();
        for (RedissonClient client : List.of(suite.first, suite.second, suite.second)) {
            RCountDownLatch awaited = client.getCountDownLatch(latch.getName());
            waiters.add(Check.inThread(() -> awaited.await(Check.PATIENCE_MS, MILLISECONDS)));
        }
        suite.awaitWaiter(channel(latch.getName()), 2);
        latch.countDown();
        Check.that(waiters.stream().noneMatch(CompletableFuture::isDone), "a waiter went on at count 1");
        long start = System.nanoTime();
        latch.countDown();
        for (CompletableFuture<Boolean> waiter : waiters) {
            Check.that(Check.await(waiter), "a waiter was not woken");
        }
        return "woken_after_ms=" + Check.elapsedMs(start);
    }

    private String waitsInVain() throws Exception {
        RCountDownLatch latch = suite.first.getCountDownLatch(suite.key("latch-vain"));
        latch.trySetCount(1);
        long start = System.nanoTime();
        Check.that(!latch.await(400, MILLISECONDS), "a waiter went on at count 1");
        long waited = Check.elapsedMs(start);
        Check.that(waited >= 390 && waited < 5_000, "waited " + waited + " ms of 400");
        latch.countDown();
        Check.that(latch.await(5, SECONDS), "waited for a latch at zero");
        return "waited_ms=" + waited;
    }

    /** A latch that is deleted holds nobody up any more; who waits already is not told (Redisson publishes no zero). */
    private String deleted() throws Exception {
        RCountDownLatch latch = suite.first.getCountDownLatch(suite.key("latch-deleted"));
        latch.trySetCount(1);
        Check.that(latch.delete(), "there was nothing to delete");
        Check.that(!latch.delete(), "deleted twice");
        Check.that(suite.second.getCountDownLatch(latch.getName()).await(1, SECONDS), "waited for a latch that is gone");
        Check.that(latch.trySetCount(1), "a latch that is gone cannot be set again");
        latch.countDown();
        return "";
    }
}
