import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { certWatcher } from '../../../src/controller/webhook/index.ts';
import { metricsText } from '../../../src/metrics/metrics.ts';
import { eventually } from '../manager/bench-manager.ts';
import { endServers, folder, pairOf } from '../webhook/support.ts';

afterEach(endServers);
const now = Date.parse('2026-01-01T00:00:00Z');

describe('certWatcher', () => {
  test('1 callbacks get each new pair, once', async () => {
    const [one, two] = [pairOf('one', now), pairOf('two', now)];
    const dir = folder({ 'tls.crt': one.cert, 'tls.key': one.key });
    const clock = new FakeClock(now);
    const watcher = certWatcher(join(dir, 'tls.crt'), join(dir, 'tls.key'), { clock, interval: 1_000 });
    expect(() => watcher.certificate).toThrow('has not been read yet');
    const seen: string[] = [];
    watcher.onChange(({ cert }) => void seen.push(cert));
    const stop = new AbortController();
    const ended = watcher.start(stop.signal);
    await eventually(() => seen.length === 1);
    expect(watcher.certificate).toEqual(one);
    await clock.advance(3_000);
    writeFileSync(join(dir, 'tls.key'), two.key);
    writeFileSync(join(dir, 'tls.crt'), two.cert);
    await clock.advance(1_000);
    await eventually(() => seen.length === 2);
    expect(seen).toEqual([one.cert, two.cert]);
    stop.abort();
    await ended;
    expect(metricsText([...watcher.collect()])).toMatch(/certwatcher_read_certificate_total [3-9]/);
  });

  test('2 a first read that fails ends the start; a key of another certificate is an error', async () => {
    const dir = folder({ 'tls.crt': pairOf('one', now).cert, 'tls.key': pairOf('two', now).key });
    const watcher = certWatcher(join(dir, 'tls.crt'), join(dir, 'tls.key'));
    await expect(watcher.start(new AbortController().signal)).rejects.toThrow(
      'the private key does not match the certificate',
    );
    expect(metricsText([...watcher.collect()])).toContain('certwatcher_read_certificate_errors_total 1\n');
  });
});
