package locks;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.redisson.api.RPermitExpirableSemaphore;

/** Cases of RPermitExpirableSemaphore, whose permits have ids and leases. */
final class ExpirablePermits {
    private final LockSuite suite;

    ExpirablePermits(LockSuite suite) {
        this.suite = suite;
    }

    void register() {
        suite.add("permit-ids", this::ids);
        suite.add("permit-several", this::several);
        suite.add("permit-lease-expires", this::leaseExpires);
        suite.add("permit-lease-updated", this::leaseUpdated);
        suite.add("permit-wakes", this::wakes);
        suite.add("permit-set", this::setPermits);
    }

    private RPermitExpirableSemaphore ofFirst(String name, int permits) {
        RPermitExpirableSemaphore semaphore = suite.first.getPermitExpirableSemaphore(suite.key(name));
        Check.that(semaphore.trySetPermits(permits), "trySetPermits was refused");
        return semaphore;
    }

    private RPermitExpirableSemaphore ofSecond(String name) {
        return suite.second.getPermitExpirableSemaphore(suite.key(name));
    }

    private String ids() throws Exception {
        RPermitExpirableSemaphore one = ofFirst("permit-ids", 2);
        RPermitExpirableSemaphore two = ofSecond("permit-ids");
        Check.that(!two.trySetPermits(5), "trySetPermits was granted twice");
        String leased = one.tryAcquire(0, 60, SECONDS);
        String forEver = two.acquire();
        Check.that(leased != null && !leased.equals(forEver), "permits " + leased + " and " + forEver);
        Check.that(two.tryAcquire() == null, "a third permit of two");
        long lease = one.getLeaseTime(leased);
        Check.that(lease > 50_000 && lease <= 60_000, "lease of 60 s has " + lease + " ms left");
        Check.that(!one.tryRelease("00000000000000000000000000000000"), "a permit that nobody has was released");
        Check.that(two.tryRelease(leased), "a permit was not released");
        Check.that(!one.tryRelease(leased), "a permit was released twice");
        Check.equal(1, one.acquiredPermits(), "acquired permits");
        Check.equal(1, two.availablePermits(), "available permits");
        one.release(forEver);
        Check.equal(2, two.availablePermits(), "available permits at last");
        return "lease_ms=" + lease;
    }

    private String several() throws Exception {
        RPermitExpirableSemaphore one = ofFirst("permit-several", 5);
        RPermitExpirableSemaphore two = ofSecond("permit-several");
        List<String> three = one.acquire(3, 60, SECONDS);
        List<String> none = two.tryAcquire(3);
        Check.that(none == null || none.isEmpty(), "three permits of two: " + none);
        List<String> rest = two.tryAcquire(2);
        Set<String> ids = new HashSet<>(three);
        ids.addAll(rest);
        Check.equal(5, ids.size(), "different permits");
        Check.equal(0, one.availablePermits(), "available permits");
        Check.equal(3, two.tryRelease(three), "released permits");
        one.release(rest);
        Check.equal(5, one.availablePermits(), "available permits at last");
        return "";
    }

    /** A permit that is not given back is free again after its lease, and its late release is refused. */
    private String leaseExpires() throws Exception {
        RPermitExpirableSemaphore one = ofFirst("permit-lease", 1);
        RPermitExpirableSemaphore two = ofSecond("permit-lease");
        long start = System.nanoTime();
        String lost = one.acquire(800, MILLISECONDS);
        String next = two.acquire(60, SECONDS);
        long waited = Check.elapsedMs(start);
        Check.that(waited >= 800 && waited < 5_000, "a lease of 800 ms ended after " + waited + " ms");
        Check.that(!one.tryRelease(lost), "a permit was released after its lease");
        Check.equal(0, one.availablePermits(), "available permits");
        Check.that(one.tryRelease(next), "a permit was not released");
        return "next_owner_after_ms=" + waited;
    }

    private String leaseUpdated() throws Exception {
        RPermitExpirableSemaphore one = ofFirst("permit-update", 1);
        RPermitExpirableSemaphore two = ofSecond("permit-update");
        String id = one.acquire(700, MILLISECONDS);
        Check.that(two.updateLeaseTime(id, 60, SECONDS), "a lease was not updated");
        Check.that(two.tryAcquire(1_200, MILLISECONDS) == null, "a permit was granted again within its new lease");
        Check.that(one.tryRelease(id), "a permit was not released within its new lease");
        Check.that(!one.updateLeaseTime(id, 60, SECONDS), "the lease of a free permit was updated");
        return "";
    }

    private String wakes() throws Exception {
        RPermitExpirableSemaphore one = ofFirst("permit-wakes", 1);
        RPermitExpirableSemaphore two = ofSecond("permit-wakes");
        String id = one.acquire(60, SECONDS);
        CompletableFuture<String> waiter = Check.inThread(() -> two.tryAcquire(Check.PATIENCE_MS, 60_000, MILLISECONDS));
        suite.awaitWaiter(Semaphores.channel(one.getName()), 1);
        Check.that(!waiter.isDone(), "a permit was granted twice");
        long start = System.nanoTime();
        one.release(id);
        String got = Check.await(waiter);
        long waited = Check.elapsedMs(start);
        Check.that(got != null, "the waiter was not woken");
        two.release(got);
        return "woken_after_ms=" + waited;
    }

    private String setPermits() throws Exception {
        RPermitExpirableSemaphore one = ofFirst("permit-set", 2);
        RPermitExpirableSemaphore two = ofSecond("permit-set");
        String id = one.acquire(60, SECONDS);
        two.setPermits(5);
        Check.equal(4, one.availablePermits(), "available permits of five, one acquired");
        Check.equal(5, two.getPermits(), "permits");
        two.addPermits(-3);
        Check.equal(1, one.availablePermits(), "available permits of two, one acquired");
        one.release(id);
        return "";
    }
}
