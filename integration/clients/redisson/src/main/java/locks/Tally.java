package locks;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/**
 * Many threads, in several JVMs, send the same requests at once: acquisitions of a semaphore that has too few permits,
 * acquisitions with releases of one that has enough, count-downs of a latch. The counts must be exact: a request that
 * equals another is not a repetition of it.
 *
 * <p>Options: {@code --addr host:port --resource host:port --parties N} (threads of all JVMs: none starts before all
 * are there), {@code --threads 8}, {@code --iterations 50}, {@code --permits N} (of the scarce semaphores) and
 * {@code --count N} (of the latch, which no thread waits for). The keys are named scarce, ample, leased, latch and
 * gate; the gate has as many counts as all threads of all JVMs will take off, and each JVM waits for it.
 */
public final class Tally {
    private final Options options;
    private final int threads;
    private final int iterations;
    private final RSemaphore scarce;
    private final RSemaphore ample;
    private final RPermitExpirableSemaphore leased;
    private final RCountDownLatch latch;
    private final RCountDownLatch gate;
    private final AtomicLong won = new AtomicLong();
    private final AtomicLong scarceGrants = new AtomicLong();
    private final AtomicLong leasedGrants = new AtomicLong();

    private Tally(Options options, RedissonClient client) {
        this.options = options;
        threads = options.number("threads", 8);
        iterations = options.number("iterations", 50);
        scarce = client.getSemaphore("scarce");
        ample = client.getSemaphore("ample");
        leased = client.getPermitExpirableSemaphore("leased");
        latch = client.getCountDownLatch("latch");
        gate = client.getCountDownLatch("gate");
    }

    public static void main(String[] args) {
        Options options = new Options(args);
        RedissonClient client = options.connect(30_000);
        Report report = new Report();
        report.run("tally", new Tally(options, client)::run);
        client.shutdown();
        System.exit(report.exitCode());
    }

    private String run() throws Exception {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            all.add(Check.inThread(this::thread));
        }
        for (CompletableFuture<Void> thread : all) {
            thread.get(120, SECONDS);
        }
        Check.that(gate.await(30, SECONDS), "the gate did not open; its count is " + gate.getCount());
        return "won=" + won + " scarce=" + scarceGrants + " leased=" + leasedGrants;
    }

    private Void thread() throws Exception {
        int parties = options.number("parties", threads);
        try (Resource resource = new Resource(options.required("resource"), "tally")) {
            resource.join(parties);
            set(parties);
            for (int n = 0; n < iterations; n++) {
                once();
            }
        }
        return null;
    }

    /** All threads set the same values at once, each before it uses them; one of them wins each. */
    private void set(int parties) {
        int permits = options.number("permits", 100);
        count(won, scarce.trySetPermits(permits));
        count(won, ample.trySetPermits(parties));
        count(won, leased.trySetPermits(permits));
        count(won, latch.trySetCount(options.number("count", 1_000_000)));
        count(won, gate.trySetCount((long) parties * iterations));
    }

    private void once() throws InterruptedException {
        count(scarceGrants, scarce.tryAcquire());
        count(leasedGrants, leased.tryAcquire() != null);
        Check.that(ample.tryAcquire(), "one of enough permits was refused");
        latch.countDown();
        ample.release();
        gate.countDown();
    }

    private static void count(AtomicLong counter, boolean happened) {
        if (happened) {
            counter.incrementAndGet();
        }
    }
}
