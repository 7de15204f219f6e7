package samples;

import java.util.List;
import java.util.Set;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Where the samples find their server, as each library wants to be told. */
interface Server {
    LettuceConnectionFactory lettuce();

    void configure(Config redisson);

    /** The same as {@link #configure} for what stands in application.yaml. */
    String redissonYaml();

    /** The server at host:port. */
    static Server at(String addr) {
        int colon = addr.lastIndexOf(':');
        String url = "redis://" + addr;
        return new Server() {
            @Override
            public LettuceConnectionFactory lettuce() {
                String host = addr.substring(0, colon);
                int port = Integer.parseInt(addr.substring(colon + 1));
                return new LettuceConnectionFactory(new RedisStandaloneConfiguration(host, port));
            }

            @Override
            public void configure(Config redisson) {
                redisson.useSingleServer().setAddress(url);
            }

            @Override
            public String redissonYaml() {
                return "singleServerConfig: {address: \"" + url + "\"}\n";
            }
        };
    }

    /** The master that Sentinels name, each of them host:port. */
    static Server namedBy(String... sentinels) {
        List<String> urls = List.of(sentinels).stream().map(addr -> "redis://" + addr).toList();
        return new Server() {
            @Override
            public LettuceConnectionFactory lettuce() {
                return new LettuceConnectionFactory(new RedisSentinelConfiguration("mymaster", Set.of(sentinels)));
            }

            @Override
            public void configure(Config redisson) {
                redisson.useSentinelServers().setMasterName("mymaster").addSentinelAddress(urls.toArray(String[]::new));
            }

            @Override
            public String redissonYaml() {
                return "sentinelServersConfig: {masterName: mymaster, sentinelAddresses: [\"" + String.join("\", \"", urls) + "\"]}\n";
            }
        };
    }
}
