package locks;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.Protocol;
import org.redisson.config.ReplicatedServersConfig;
import org.redisson.config.SentinelServersConfig;

/** The command line of the programs: pairs of {@code --name value}. */
final class Options {
    private final Map<String, String> values = new HashMap<>();

    Options(String[] args) {
        if (args.length % 2 != 0) {
            throw new IllegalArgumentException("options come in pairs: --name value");
        }
        for (int i = 0; i < args.length; i += 2) {
            if (!args[i].startsWith("--")) {
                throw new IllegalArgumentException("not an option: " + args[i]);
            }
            values.put(args[i].substring(2), args[i + 1]);
        }
    }

    String required(String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("--" + name + " is required");
        }
        return value;
    }

    String string(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    int number(String name, int otherwise) {
        return values.containsKey(name) ? Integer.parseInt(values.get(name)) : otherwise;
    }

    /** A client of the server at --addr, of the master that --sentinels name, or of the one among --replicated; locks taken without a lease live watchdogMs unless renewed. */
    RedissonClient connect(long watchdogMs) {
        return connect(watchdogMs, config -> { });
    }

    /** The same with a change to the configuration. */
    RedissonClient connect(long watchdogMs, Consumer<Config> change) {
        Config config = new Config();
        if (!string("protocol", "").equals("none")) {
            Newer.speak(config, string("protocol", "RESP2"));
        }
        config.setLockWatchdogTimeout(watchdogMs);
        if (values.containsKey("sentinels")) {
            useSentinels(config);
        } else if (values.containsKey("replicated")) {
            useReplicated(config);
        } else {
            config.useSingleServer().setAddress("redis://" + required("addr"));
        }
        change.accept(config);
        return Redisson.create(config);
    }

    /** A client of each of the servers that --replicated names; none without it. The caller shuts them down. */
    List<RedissonClient> connectToEach() {
        List<RedissonClient> each = new ArrayList<>();
        for (String address : string("replicated", "").split(",")) {
            if (!address.isEmpty()) {
                Config config = new Config();
                config.useSingleServer().setAddress("redis://" + address).setConnectionMinimumIdleSize(1);
                each.add(Redisson.create(config));
            }
        }
        return each;
    }

    private void useSentinels(Config config) {
        if (!string("protocol", "").equals("none")) {
            Newer.askNoReplicas(config);
        }
        SentinelServersConfig servers = config.useSentinelServers().setMasterName("mymaster");
        for (String sentinel : required("sentinels").split(",")) {
            servers.addSentinelAddress("redis://" + sentinel);
        }
    }

    /** The addresses at which Redisson itself looks for the one that says it is the master. */
    private void useReplicated(Config config) {
        ReplicatedServersConfig servers = config.useReplicatedServers();
        for (String address : required("replicated").split(",")) {
            servers.addNodeAddress("redis://" + address);
        }
    }

    /** What older versions of Redisson do not have ({@code --protocol none}). */
    private static final class Newer {
        private static void speak(Config config, String protocol) {
            config.setProtocol(Protocol.valueOf(protocol));
        }

        /** As before Redisson 3.17: what a replica knows is not asked for. Redfence has no replicas that could lag. */
        private static void askNoReplicas(Config config) {
            config.setCheckLockSyncedSlaves(false);
        }
    }
}
