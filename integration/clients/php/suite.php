<?php
// Locks with Symfony Lock, or by hand with phpredis, against the server at --addr, in named cases.
//
// Options: --addr host:port, --library symfony|phpredis, --case NAME for one case only. Prints one line per case,
// "ok NAME DETAILS" or "not ok NAME REASON"; the exit code is 1 when any case failed.
declare(strict_types=1);

require __DIR__ . '/locks.php';
require __DIR__ . '/cases.php';
require __DIR__ . '/symfony.php';
require __DIR__ . '/phpredis.php';

$options = getopt('', ['addr:', 'library:', 'case:']);
[$host, $port] = explode(':', $options['addr']);
$connect = static function () use ($host, $port): Redis {
    $redis = new Redis();
    $redis->connect($host, (int) $port);
    return $redis;
};
$library = match ($options['library']) {
    'symfony' => new SymfonyLocks($connect),
    'phpredis' => new PhpredisLocks($connect),
};

$code = 0;
foreach ($library->cases() + lockCases($library, $connect) as $name => $body) {
    if (isset($options['case']) && $options['case'] !== $name) {
        continue;
    }
    try {
        echo "ok $name ", $body('php:' . bin2hex(random_bytes(8))), "\n";
    } catch (Throwable $reason) {
        $code = 1;
        echo "not ok $name ", strtr(get_class($reason) . ': ' . $reason->getMessage(), "\n", ' '), "\n";
        fwrite(STDERR, $reason . "\n");
    }
}
exit($code);
