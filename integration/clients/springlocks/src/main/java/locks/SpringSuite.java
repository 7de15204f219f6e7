package locks;

/** Locks with {@code --library registry|shedlock}, {@code --driver lettuce|jedis}, {@code --wait spin|pubsub}; see {@link Runner}. */
public final class SpringSuite {
    private SpringSuite() {
    }

    public static void main(String[] args) throws InterruptedException {
        Runner runner = new Runner(args);
        Inspector inspector = new Inspector(runner.server());
        switch (runner.option("library", "")) {
            case "registry" -> new RegistryLocks(runner, inspector).register();
            case "shedlock" -> new ShedLocks(runner, inspector).register();
            default -> throw new IllegalArgumentException("--library registry|shedlock");
        }
        System.exit(runner.run());
    }
}
