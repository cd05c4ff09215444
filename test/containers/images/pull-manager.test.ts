import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../src/base/fake-clock.ts';
import { silentLogger } from '../../../src/base/logger.ts';
import { PullManager } from '../../../src/containers/images/pull-manager.ts';
import { requiresVerification, type VerificationPolicy } from '../../../src/containers/images/pull-record.ts';
import { PullRecordFiles } from '../../../src/containers/images/pull-record-files.ts';
import type { PullCredential } from '../../../src/containers/images/pull-credentials.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'pt-pulls-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

const clock = new FakeClock();
clock.set(Date.parse('2026-09-26T06:36:38.900Z'));

const manager = (
  policy: VerificationPolicy = 'NeverVerifyPreloadedImages',
  allowlist: string[] = [],
): PullManager =>
  new PullManager({
    files: new PullRecordFiles(root, silentLogger),
    requiresVerification: requiresVerification(policy, allowlist),
    clock,
    logger: silentLogger,
  });

const fileOf = (kind: 'pulling' | 'pulled', key: string): string =>
  join(root, 'image_manager', kind, `sha256-${createHash('sha256').update(key).digest('hex')}`);
const textOf = (key: string): string => readFileSync(fileOf('pulled', key), 'utf8');

const secret = (name: string, hash: string): PullCredential => ({
  auth: { username: 'u' },
  hash,
  source: { secret: { uid: `uid-${name}`, namespace: 'ns', name } },
});
const account: PullCredential = {
  auth: { username: 'u' },
  source: { serviceAccount: { uid: 'uid-sa', namespace: 'ns', name: 'sa' } },
};
const must = (made: PullManager, own: readonly PullCredential[] = [], image = 'a.io/x:1'): Promise<boolean> =>
  made.mustAttemptPull(image, 'sha256:ref', async () => own);

function pulled(made: PullManager, used?: PullCredential, image = 'a.io/x:1'): void {
  made.recordIntent(image);
  made.recordPulled(image, 'sha256:ref', used);
}

describe('records on disk', () => {
  test('are the kubelet’s: names, folders, rights, content', () => {
    const made = manager();
    made.recordIntent('a.io/x:1');
    expect(readFileSync(fileOf('pulling', 'a.io/x:1'), 'utf8')).toBe(
      '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"a.io/x:1"}\n',
    );
    made.recordPulled('a.io/x:1', 'sha256:ref', undefined);
    expect(existsSync(fileOf('pulling', 'a.io/x:1'))).toBe(false);
    const head =
      '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"2026-09-26T06:36:38Z","imageRef":"sha256:ref","credentialMapping":';
    expect(textOf('sha256:ref')).toBe(`${head}{"a.io/x":{"nodePodsAccessible":true}}}\n`);
    pulled(made, secret('s', 'h'), 'busybox');
    expect(textOf('sha256:ref')).toBe(
      `${head}{"a.io/x":{"nodePodsAccessible":true},"docker.io/library/busybox":{"kubernetesSecrets":[{"uid":"uid-s","namespace":"ns","name":"s","credentialHash":"h"}]}}}\n`,
    );
    pulled(made, account, 'b.io/x@sha256:' + 'a'.repeat(64));
    expect(textOf('sha256:ref')).toContain(
      '"b.io/x":{"kubernetesServiceAccounts":[{"uid":"uid-sa","namespace":"ns","name":"sa"}]}',
    );
    expect(statSync(fileOf('pulled', 'sha256:ref')).mode & 0o777).toBe(0o600);
    expect(statSync(join(root, 'image_manager', 'pulled')).mode & 0o777).toBe(0o700);
  });

  test('an intent stays as long as one of several pulls goes on', () => {
    const made = manager();
    made.recordIntent('a.io/x:1');
    made.recordIntent('a.io/x:1');
    made.recordFailed('a.io/x:1');
    expect(existsSync(fileOf('pulling', 'a.io/x:1'))).toBe(true);
    made.recordFailed('a.io/x:1');
    expect(existsSync(fileOf('pulling', 'a.io/x:1'))).toBe(false);
  });

  test('an image whose pull an earlier agent began is recorded without credentials', async () => {
    const before = manager();
    before.recordIntent('a.io/x:1');
    before.recordIntent('a.io/y:1');
    const after = manager();
    after.initialize([{ id: 'sha256:ref', repoTags: ['a.io/x:1', 'a.io/z:1'] }]);
    expect(readdirSync(join(root, 'image_manager', 'pulling'))).toHaveLength(1);
    expect(textOf('sha256:ref')).not.toContain('credentialMapping');
    expect(await must(after)).toBe(true);
    expect(await must(after, [], 'a.io/y:1')).toBe(true);
  });

  test('go when their image is gone, unless they are newer than the list of images', () => {
    const made = manager();
    pulled(made);
    const at = clock.now();
    made.prune(new Set(['sha256:ref']), at + 1000);
    made.prune(new Set(), at - 1000);
    expect(existsSync(fileOf('pulled', 'sha256:ref'))).toBe(true);
    made.prune(new Set(), at + 1000);
    expect(existsSync(fileOf('pulled', 'sha256:ref'))).toBe(false);
  });

  test('one that cannot be read asks for a pull, which makes it anew', async () => {
    const made = manager();
    pulled(made);
    writeFileSync(fileOf('pulled', 'sha256:ref'), '{"kind":"Pod","apiVersion":"v1"}');
    expect(await must(made)).toBe(true);
    pulled(made);
    expect(await must(made)).toBe(false);
  });

  test('one of the older version is read', async () => {
    const made = manager();
    pulled(made);
    writeFileSync(fileOf('pulled', 'sha256:ref'), textOf('sha256:ref').replace('v1beta1', 'v1alpha1'));
    expect(await must(made)).toBe(false);
  });
});

describe('may a pod have an image that is there', () => {
  test.for([
    ['NeverVerify', [], 'x', false, false],
    ['NeverVerifyPreloadedImages', [], 'x', false, true],
    ['AlwaysVerify', [], 'x', true, true],
    ['NeverVerifyAllowlistedImages', [], 'a.io/x:1', true, true],
    ['NeverVerifyAllowlistedImages', ['a.io/x'], 'a.io/x:1', false, false],
    ['NeverVerifyAllowlistedImages', ['a.io/*'], 'a.io/b/x:1', false, false],
    ['NeverVerifyAllowlistedImages', ['a.io/b/*'], 'a.io/x:1', true, true],
    ['NeverVerifyAllowlistedImages', ['localhost:5000/x'], 'localhost:5000/x', false, false],
    ['NeverVerifyAllowlistedImages', ['busybox'], 'busybox@sha256:0', false, false],
    ['NeverVerifyAllowlistedImages', ['docker.io/library/busybox'], 'busybox', true, true],
  ] as const)('%s %j, %s: of others %s, of the agent %s', ([policy, list, image, ofOthers, ofAgent]) => {
    const required = requiresVerification(policy, list);
    expect([required(image, false), required(image, true)]).toEqual([ofOthers, ofAgent]);
  });

  test('one that others brought: yes; one that took no credentials: yes; without an image: no', async () => {
    const made = manager();
    expect(await must(made)).toBe(false);
    pulled(made);
    expect(await must(made)).toBe(false);
    expect(await made.mustAttemptPull('a.io/x:1', '', async () => [])).toBe(true);
  });

  test('under a name that it was not pulled by: no', async () => {
    const made = manager();
    pulled(made);
    expect(await must(made, [], 'b.io/x:1')).toBe(true);
    expect(await must(made, [], 'a.io/x:2')).toBe(false);
  });

  test('pulled with a secret: with the same one, the same content, or the same secret in a newer version', async () => {
    const made = manager();
    pulled(made, secret('s', 'h1'));
    expect(await must(made, [])).toBe(true);
    expect(await must(made, [account])).toBe(true);
    expect(await must(made, [secret('other', 'other')])).toBe(true);
    expect(await must(made, [secret('s', 'h1')])).toBe(false);
    expect(await must(made, [secret('copy', 'h1')])).toBe(false);
    expect(await must(made, [secret('s', 'h2')])).toBe(false);
    const known = JSON.parse(textOf('sha256:ref')) as {
      credentialMapping: Record<string, { kubernetesSecrets: object[] }>;
    };
    expect(known.credentialMapping['a.io/x']?.kubernetesSecrets).toMatchObject([
      { name: 'copy', credentialHash: 'h1' },
      { name: 's', credentialHash: 'h2' },
    ]);
  });

  test('a credential without a hash is known by its secret alone', async () => {
    const made = manager();
    pulled(made, secret('s', ''));
    expect(await must(made, [secret('copy', '')])).toBe(true);
    expect(await must(made, [secret('s', '')])).toBe(false);
  });

  test('pulled by a service account: with the same one', async () => {
    const made = manager();
    pulled(made, account);
    expect(await must(made, [account])).toBe(false);
    expect(await must(made, [secret('s', 'h')])).toBe(true);
  });

  test('what one more pull shows is added, and no credentials at all win', async () => {
    const made = manager();
    pulled(made, account);
    pulled(made, secret('s', 'h'));
    expect([await must(made, [account]), await must(made, [secret('s', 'h')])]).toEqual([false, false]);
    pulled(made);
    expect(await must(made, [])).toBe(false);
    const text = textOf('sha256:ref');
    pulled(made, account);
    expect(textOf('sha256:ref')).toBe(text);
  });

  test('credentials are not looked up where they do not matter', async () => {
    const never = (): never => {
      throw new Error('not asked for');
    };
    const made = manager();
    pulled(made);
    expect(await made.mustAttemptPull('a.io/x:1', 'sha256:ref', never)).toBe(false);
    expect(await made.mustAttemptPull('b.io/x:1', 'sha256:ref', never)).toBe(true);
  });
});
