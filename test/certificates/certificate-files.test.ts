import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { followClientCa, followPair, readClientCa } from '../../src/certificates/certificate-files.ts';
import { Authority } from '../../src/pki/certificates.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { silentLogger } from '../../src/base/logger.ts';

const [old, next] = ['old', 'next'].map((name) => Authority.create(name, Date.now()).cert) as [
  string,
  string,
];
let dir: string;
let stop: AbortController;
const clock = new FakeClock();
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'pt-certificate-files-'));
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  rmSync(dir, { recursive: true });
});

test('new client authorities are taken up within 5 s; a file without a certificate, or none, changes nothing', async () => {
  const file = join(dir, 'ca.crt');
  writeFileSync(file, old);
  const trusted: string[] = [];
  const errors: unknown[] = [];
  const error = (text: string): void => void errors.push(text);
  const trust = (text: string): void => void trusted.push(text);
  const deps = { clock, logger: { ...silentLogger, error }, signal: stop.signal };
  const done = followClientCa(file, await readClientCa(file), trust, deps);
  const faults = async (count: number): Promise<void> => {
    await clock.advance(5000);
    await vi.waitFor(() => {
      expect(errors).toHaveLength(count);
    });
  };
  writeFileSync(file, 'half of a cert');
  await faults(1);
  rmSync(file);
  await faults(2);
  writeFileSync(file, next);
  await clock.advance(5000);
  await vi.waitFor(() => {
    expect(trusted).toEqual([next]);
  });
  stop.abort();
  await done;
});

test('a new serving pair is taken up once', async () => {
  const files = { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') };
  writeFileSync(files.certFile, next);
  writeFileSync(files.keyFile, 'key');
  const renewed: unknown[] = [];
  const deps = { clock, logger: silentLogger, signal: stop.signal };
  const renew = (pair: unknown): void => void renewed.push(pair);
  const done = followPair(files, { cert: old, key: 'key' }, renew, deps);
  await clock.advance(5000);
  await vi.waitFor(() => {
    expect(renewed).toEqual([{ cert: next, key: 'key' }]);
  });
  stop.abort();
  await done;
});
