package locks;

/** The scripts of a lock by hand, which compare the owner. */
final class Scripts {
    static final String EXTEND =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";
    static final String RELEASE =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

    private Scripts() {
    }
}
