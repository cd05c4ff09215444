import { mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ApiError } from '../../src/api/client.ts';
import { hour } from '../../src/pki/certificates.ts';
import { FakeClock } from '../../src/base/fake-clock.ts';
import { type Logger, silentLogger } from '../../src/base/logger.ts';
import {
  type Certificate,
  readCertificate,
  rotationDeadline,
  servingTemplate,
} from '../../src/certificates/certificate.ts';
import {
  CertificateManager,
  type CertificateManagerDeps,
} from '../../src/certificates/certificate-manager.ts';
import { CertificateStore } from '../../src/certificates/certificate-store.ts';
import { SigningDesk } from './signing-desk.ts';

const start = Date.UTC(2026, 0, 1);
const addresses = (...ips: string[]) => [
  ...ips.map((address) => ({ type: 'InternalIP', address })),
  { type: 'Hostname', address: 'n1' },
];

let dir: string;
let clock: FakeClock;
let desk: SigningDesk;
let store: CertificateStore;
let stop: AbortController;
let nodeAddresses = addresses('192.0.2.7');
let taken: Certificate[];
let errors: string[];
let running: Promise<void>;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'certs-'));
  clock = new FakeClock(start);
  desk = new SigningDesk(clock);
  store = new CertificateStore(dir, 'kubelet-server');
  stop = new AbortController();
  nodeAddresses = addresses('192.0.2.7');
  taken = [];
  errors = [];
  running = Promise.resolve();
});
afterEach(async () => {
  stop.abort();
  await running;
  expect(clock.pending).toBe(0);
  await rm(dir, { recursive: true });
});

const logger: Logger = {
  ...silentLogger,
  error: (_message, { err } = {}) => errors.push(String(err)),
};

/** A manager of a serving certificate that runs; `float` says where in 70 to 90 % of the life it is renewed. */
async function begin(more: Partial<CertificateManagerDeps> = {}, float = 0.5): Promise<CertificateManager> {
  const manager = new CertificateManager({
    clock,
    random: { float: () => float, uuid: () => '', hex: () => '' },
    logger,
    store,
    signerName: 'kubernetes.io/kubelet-serving',
    template: () => servingTemplate('n1', nodeAddresses),
    client: () => desk,
    ...more,
  });
  manager.onCertificate = (one) => taken.push(one);
  manager.load();
  running = manager.run(stop.signal);
  await clock.advance(0);
  return manager;
}

test('the first certificate is asked for as the kubelet does, and stored so', async () => {
  await begin();
  expect(desk.asked()).toMatchObject({
    subject: { commonName: 'system:node:n1', organizations: ['system:nodes'] },
    dnsNames: ['n1'],
    ips: ['192.0.2.7'],
  });
  expect(desk.requests[0]?.spec).toMatchObject({
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
  });
  expect(await readlink(join(dir, 'kubelet-server-current.pem'))).toBe(
    'kubelet-server-2026-01-01-00-00-00.pem',
  );
  expect((await stat(store.currentPath)).mode & 0o777).toBe(0o600);
  const stored = readCertificate(await readFile(store.currentPath, 'utf8'));
  expect(taken.map(({ cert }) => cert)).toEqual([stored.cert]);
  expect((await readdir(dir)).sort()).toEqual([
    'kubelet-server-2026-01-01-00-00-00.pem',
    'kubelet-server-current.pem',
  ]);
});

test.for([
  [0, 0.7],
  [0.5, 0.8],
  [1, 0.9],
] as const)('with chance %f a certificate is renewed after %f of its life', async ([float, part]) => {
  expect(
    rotationDeadline(
      { notBefore: start, notAfter: start + hour },
      { float: () => float, uuid: () => '', hex: () => '' },
    ),
  ).toBeCloseTo(start + part * hour, 0);
  await begin({}, float);
  await clock.advance(part * hour - 1);
  expect(taken).toHaveLength(1);
  await clock.advance(2000);
  expect(taken).toHaveLength(2);
  expect(taken[1]?.key).not.toBe(taken[0]?.key);
});

test('a year of certificates that last a month is kept in force without a gap', async () => {
  const day = 24 * hour;
  desk.lifetimeMs = 30 * day;
  const manager = await begin();
  for (let passed = 0; passed < 365; passed += 5) {
    await clock.advance(5 * day);
    expect(manager.current?.notAfter).toBeGreaterThan(clock.now());
  }
  expect(taken.length).toBe(1 + Math.floor(365 / 24));
  expect(manager.stats).toMatchObject({ failures: 0 });
  expect(manager.stats.servedSeconds[0]).toBeCloseTo(24 * 24 * 3600, -2);
});

test('new addresses are asked for at once; one that has gone is left in the certificate', async () => {
  const manager = await begin();
  await clock.advance(1000);
  nodeAddresses = addresses('192.0.2.7', '2001:db8::7');
  manager.templateChanged();
  await clock.advance(0);
  expect(taken).toHaveLength(2);
  expect(taken[1]?.leaf.checkIP('2001:db8::7')).toBeDefined();
  nodeAddresses = addresses('192.0.2.7');
  await clock.advance(1000); // the next round
  manager.templateChanged();
  await clock.advance(5000);
  expect(taken).toHaveLength(2);
});

test('a request that waits while the addresses change gives way to another', async () => {
  desk.way = 'wait';
  const manager = await begin();
  nodeAddresses = addresses('192.0.2.8');
  manager.templateChanged();
  await clock.advance(3000);
  desk.decide('approve');
  await clock.advance(0);
  expect(desk.requests).toHaveLength(2);
  expect(taken.map(({ leaf }) => leaf.checkIP('192.0.2.8'))).toEqual(['192.0.2.8']);
});

test('a node without addresses asks for nothing until it has some', async () => {
  nodeAddresses = [];
  const manager = await begin();
  await clock.advance(hour);
  expect(desk.requests).toHaveLength(0);
  nodeAddresses = addresses('192.0.2.9');
  manager.templateChanged();
  await clock.advance(1000);
  expect(taken).toHaveLength(1);
});

test.for([
  ['deny', 'is denied, reason: TestDenied, message: the test says so'],
  ['fail', 'failed, reason: TestFailed, message: the test says so'],
] as const)('a request that ends with %s is logged and repeated with another key', async ([way, told]) => {
  desk.way = way;
  const manager = await begin({}, 0);
  expect(errors).toEqual([expect.stringContaining(told)]);
  expect(manager.lastError).toContain(told);
  for (const seconds of [2, 4, 8, 16, 32, 32]) {
    const before = desk.requests.length;
    await clock.advance(seconds * 1000 - 1);
    expect(desk.requests.length).toBe(before);
    await clock.advance(1);
    expect(desk.requests.length).toBe(before + 1);
  }
  desk.way = 'approve';
  await clock.advance(36_000);
  expect(taken).toHaveLength(1);
  expect(manager.lastError).toBeUndefined();
  expect(new Set(desk.requests.map(({ metadata }) => metadata?.name)).size).toBe(8);
});

test('an undecided request is reused after 15 minutes and after a restart', async () => {
  desk.way = 'wait';
  await begin();
  await clock.advance(15 * 60_000 + 3000);
  expect(errors).toEqual(['the request was not decided within 15 min']);
  stop.abort();
  await running;
  stop = new AbortController();
  await begin();
  expect(desk.requests).toHaveLength(1);
  desk.decide('approve');
  await clock.advance(0);
  expect(taken).toHaveLength(1);
});

test('a deleted request is created again', async () => {
  desk.way = 'wait';
  await begin();
  desk.remove();
  await clock.advance(0);
  expect(errors).toEqual([expect.stringMatching(/the certificate signing request node-csr-\w+ was deleted/)]);
  await clock.advance(3000);
  desk.decide('approve');
  await clock.advance(0);
  expect(taken).toHaveLength(1);
});

test('an API server that is away is asked again for the same certificate', async () => {
  desk.failure = new ApiError(0, { message: 'no way there' });
  await begin();
  expect(errors).toEqual(['no way there']);
  const kept = store.keptKey();
  await clock.advance(2200);
  desk.failure = undefined;
  await clock.advance(4400);
  expect(taken.map(({ key }) => key.trim())).toEqual([kept?.trim()]);
  expect(store.keptKey()).toBeUndefined();
});

test('a stored certificate is taken up again by a restart, and renewed when it was to be', async () => {
  await begin();
  stop.abort();
  await running;
  stop = new AbortController();
  await clock.advance(hour / 2);
  await begin();
  expect(desk.requests).toHaveLength(1);
  expect(taken[1]?.cert).toBe(taken[0]?.cert);
  await clock.advance(0.31 * hour);
  expect(desk.requests).toHaveLength(2);
});

test('a key that is in the stored certificate is not used for another request', async () => {
  await begin();
  stop.abort();
  await running;
  stop = new AbortController();
  // as if the process had ended between the certificate and the key
  await writeFile(join(dir, 'kubelet-server.key.tmp'), taken[0]?.key ?? '');
  await clock.advance(0.9 * hour);
  await begin();
  expect(taken[2]?.key).not.toBe(taken[0]?.key);
  expect(desk.requests).toHaveLength(2);
});

test('an approved request of long ago, whose certificate has expired, is not used', async () => {
  desk.way = 'wait';
  await begin();
  stop.abort();
  await running;
  desk.decide('approve');
  stop = new AbortController();
  await clock.advance(2 * hour);
  desk.way = 'approve';
  await begin();
  expect(errors).toEqual([expect.stringMatching(/expired at 2026-01-01T01:00:00/)]);
  await clock.advance(3000);
  expect(taken).toHaveLength(1);
});

test('a stored file that is broken, or a link to nothing, is no reason not to start', async () => {
  await writeFile(store.currentPath, 'rubbish');
  await begin();
  expect(errors[0]).toContain('kubelet-server-current.pem cannot be used: there is no certificate');
  expect(errors[1]).toContain('is not a link: it was put there by hand');
  await rm(store.currentPath);
  await symlink('gone.pem', store.currentPath);
  await clock.advance(3000);
  expect(taken).toHaveLength(1);
});

test('a signer that leaves names out is not asked again at once', async () => {
  desk.onlyHosts = ['n1'];
  const manager = await begin();
  expect(taken).toHaveLength(1);
  const [first] = taken;
  expect(first?.leaf.subjectAltName).toBe('DNS:n1');
  await clock.advance(2200);
  expect(taken).toHaveLength(2);
  await clock.advance(2200);
  expect(taken).toHaveLength(2);
  desk.onlyHosts = undefined;
  await clock.advance(5000);
  await clock.advance(hour / 2);
  expect(taken).toHaveLength(3);
  expect(manager.current).toBe(taken[2]);
});

test('without rotation one certificate is all', async () => {
  await begin({ rotate: false });
  await clock.advance(100 * 24 * hour);
  expect(taken).toHaveLength(1);
});
