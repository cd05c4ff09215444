import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { appArmorFault } from '../../src/admission/admit-result.ts';
import { enforcesAppArmor } from '../../src/agent/apparmor-host.ts';
import type { Pod } from '../../src/kube/types.ts';

const key = 'container.apparmor.security.beta.kubernetes.io/c';
const podOf = (own: object = {}, whole: object = {}, annotations: Record<string, string> = {}): Pod => ({
  metadata: { annotations },
  spec: { containers: [{ name: 'c', securityContext: own }], securityContext: whole },
});
const profile = (type: string): object => ({ appArmorProfile: { type } });

test.for<[string, Pod]>([
  ['the container’s', podOf(profile('RuntimeDefault'))],
  ['the pod’s', podOf({}, profile('RuntimeDefault'))],
  ['that of the old annotation', podOf({}, {}, { [key]: 'runtime/default' })],
])('a profile, %s, needs a kernel that enforces it', ([, pod]) => {
  expect(appArmorFault(pod, false)).toBe('AppArmor is not enabled on the host');
  expect(appArmorFault(pod, true)).toBeUndefined();
});

test('a pod without a profile runs anywhere', () => {
  for (const pod of [podOf(), podOf(profile('Unconfined')), podOf({}, {}, { [key]: 'unconfined' })])
    expect(appArmorFault(pod, false)).toBeUndefined();
});

test('a local profile has a name', () => {
  expect(appArmorFault(podOf({}, {}, { [key]: 'localhost/' }), true)).toBe(
    'invalid empty AppArmor profile name: "localhost/"',
  );
});

test('a kernel enforces profiles when it has the module and the module is on', () => {
  const root = mkdtempSync(join(tmpdir(), 'pt-apparmor-'));
  const parameters = join(root, 'sys/module/apparmor/parameters');
  expect(enforcesAppArmor(root)).toBe(false);
  mkdirSync(join(root, 'sys/kernel/security/apparmor'), { recursive: true });
  expect(enforcesAppArmor(root)).toBe(false);
  mkdirSync(parameters, { recursive: true });
  writeFileSync(join(parameters, 'enabled'), 'N\n');
  expect(enforcesAppArmor(root)).toBe(false);
  writeFileSync(join(parameters, 'enabled'), 'Y\n');
  expect(enforcesAppArmor(root)).toBe(true);
  rmSync(root, { recursive: true });
});
