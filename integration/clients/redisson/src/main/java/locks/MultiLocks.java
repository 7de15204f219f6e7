package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.ArrayList;
import java.util.List;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Cases of RMultiLock, of locks on a group of values, and of many locks that one script renews. */
final class MultiLocks {
    /** More than the 100 keys that one renewal carries unless told (lockWatchdogBatchSize). */
    private static final int MANY = 120;

    private final LockSuite suite;

    MultiLocks(LockSuite suite) {
        this.suite = suite;
    }

    void register() {
        suite.add("multi-all-or-none", this::allOrNone);
        suite.add("multi-watchdog", this::watchdog);
        suite.add("multi-lease", this::lease);
        suite.add("multi-group", this::group);
        suite.add("many-locks-one-renewal", () -> manyLocks(MANY + 30));
        suite.add("many-locks-two-renewals", () -> manyLocks(100));
    }

    private List<RLock> three(RedissonClient client, String name) {
        List<RLock> locks = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            locks.add(client.getLock(suite.key(name + "-" + i)));
        }
        return locks;
    }

    private RLock multi(List<RLock> locks) {
        return suite.first.getMultiLock(locks.toArray(RLock[]::new));
    }

    private String allOrNone() throws Exception {
        List<RLock> locks = three(suite.first, "multi");
        List<RLock> others = three(suite.second, "multi");
        RLock multi = multi(locks);
        others.get(1).lock();
        Check.that(!multi.tryLock(), "got three locks of which one was held");
        Check.that(!multi.tryLock(300, 60_000, MILLISECONDS), "got three locks of which one was held");
        Check.that(!others.get(0).isLocked() && !others.get(2).isLocked(), "a refused multi-lock left locks behind");
        others.get(1).unlock();
        Check.that(multi.tryLock(5, 60, SECONDS), "three free locks were refused");
        for (RLock other : others) {
            Check.that(!other.tryLock(), "one of three held locks was granted again");
            long ttl = other.remainTimeToLive();
            Check.that(ttl > 50_000 && ttl <= 60_000, "TTL " + ttl + " ms of a lease of 60 s");
        }
        multi.unlock();
        for (RLock other : others) {
            Check.that(!other.isLocked(), "locked after the unlock of all");
        }
        return "locks=3";
    }

    private String watchdog() throws Exception {
        List<RLock> locks = three(suite.first, "multi-watchdog");
        RLock multi = multi(locks);
        multi.lock();
        LockSuite.Observation seen = LockSuite.observe(three(suite.second, "multi-watchdog").get(2), 2);
        for (RLock lock : locks) {
            Check.that(lock.remainTimeToLive() > 0, lock.getName() + " is gone");
        }
        multi.unlock();
        return "renewals=" + seen.renewals();
    }

    private String lease() throws Exception {
        RLock multi = multi(three(suite.first, "multi-lease"));
        RLock others = suite.second.getMultiLock(three(suite.second, "multi-lease").toArray(RLock[]::new));
        long start = System.nanoTime();
        multi.lock(1, SECONDS);
        Check.that(others.tryLock(20, 60, SECONDS), "the locks did not become free after their lease");
        long waited = Check.elapsedMs(start);
        Check.that(waited >= 1_000, "a lease of 1 s ended after " + waited + " ms");
        others.unlock();
        return "next_owner_after_ms=" + waited;
    }

    /** Locks on sets of values of one group exclude each other where the sets meet. */
    private String group() throws Exception {
        String group = suite.key("multi-group");
        RLock ab = suite.first.getMultiLock(group, List.of("a", "b"));
        RLock bc = suite.second.getMultiLock(group, List.of("b", "c"));
        RLock cd = suite.first.getMultiLock(group, List.of("c", "d"));
        Check.that(ab.tryLock(), "free values were refused");
        Check.that(!bc.tryLock(), "a held value was granted again");
        Thread.sleep(LockSuite.WATCHDOG_MS * 2);
        Check.that(!bc.tryLock(), "the values were lost although their owner lives");
        Check.that(cd.tryLock(), "free values of a group in use were refused");
        ab.unlock();
        Check.that(!bc.tryLock(), "a value that another holds was granted");
        cd.unlock();
        Check.that(bc.tryLock(), "free values were refused");
        bc.unlock();
        return "";
    }

    /** Many unrelated locks of one client, whose renewals carry at most batch keys each. */
    private String manyLocks(int batch) throws Exception {
        RedissonClient client = suite.options.connect(LockSuite.WATCHDOG_MS, config -> config.setLockWatchdogBatchSize(batch));
        List<RLock> held = new ArrayList<>();
        List<RLock> watched = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            String name = suite.key("many-" + batch + "-" + i);
            held.add(client.getLock(name));
            held.get(i).lock();
            watched.add(suite.second.getLock(name));
        }
        LockSuite.observe(watched.get(MANY - 1), 3);
        for (RLock lock : watched) {
            long ttl = lock.remainTimeToLive();
            Check.that(ttl > 0 && ttl <= LockSuite.WATCHDOG_MS, lock.getName() + " has TTL " + ttl);
        }
        held.forEach(RLock::unlock);
        for (RLock lock : watched) {
            Check.that(!lock.isLocked(), lock.getName() + " is locked after its unlock");
        }
        client.shutdown();
        return "locks=" + MANY + " batch=" + batch;
    }
}
