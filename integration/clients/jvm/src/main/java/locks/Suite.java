package locks;

/** Locks with {@code --library jedis|lettuce}, with {@code --protocol 2|3}; see {@link Runner}. */
public final class Suite {
    private Suite() {
    }

    public static void main(String[] args) throws InterruptedException {
        Runner runner = new Runner(args);
        Inspector inspector = new Inspector(runner.server());
        switch (runner.option("library", "")) {
            case "jedis" -> new JedisLocks(runner, inspector).register();
            case "lettuce" -> new LettuceLocks(runner, inspector).register();
            case "none" -> new LockCases(new NoLock(inspector), inspector).register(runner);
            default -> throw new IllegalArgumentException("--library jedis|lettuce|none");
        }
        System.exit(runner.run());
    }
}
