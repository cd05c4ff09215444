import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eciParts } from '../../src/app/eci.ts';
import type { EffectiveOptions } from '../../src/options/load.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'eci-settings-'));
});
afterAll(() => {
  rmSync(dir, { recursive: true });
});

const settings = { agent: { nodeName: 'eci-1', nodeLabels: { team: 'a' } } } as unknown as EffectiveOptions;
const keys = { ECI_ACCESS_KEY: 'id', ECI_SECRET_KEY: 'secret' };
const file = (name: string, text: string): string => {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
};

describe('--provider eci', () => {
  test.each([
    ['eci.toml', 'Region = "cn-hangzhou"\nSecureGroup = "sg-1"\nVSwitch = "vsw-1"\nCPU = "8"\n'],
    ['eci.yaml', 'region: cn-hangzhou\nsecureGroup: sg-1\nvSwitch: vsw-1\ncpu: 8\n'],
    ['eci.json', '{"Region":"cn-hangzhou","SecureGroup":"sg-1","VSwitch":"vsw-1","CPU":"8"}'],
  ])("settings from %s: the node has the account's labels, taint and capacity", async (name, text) => {
    const { node, nodeIPs } = await eciParts(
      settings,
      { ...keys, VKUBELET_POD_IP: '192.0.2.7' },
      file(name, text),
    );
    expect(nodeIPs).toEqual(['192.0.2.7']);
    expect(node).toMatchObject({
      labels: { type: 'virtual-kubelet', team: 'a', 'topology.kubernetes.io/region': 'cn-hangzhou' },
      optionalLabels: { 'kubernetes.io/role': 'agent' },
      taints: [{ key: 'virtual-kubelet.io/provider' }],
      capacity: { cpu: '8', memory: '4Ti' },
    });
  });

  test('what is wrong is named, with the file', async () => {
    const fault = (path?: string): Promise<unknown> => eciParts(settings, keys, path);
    await expect(fault()).rejects.toThrow(
      'ECI settings: ECI_REGION is not set; ECI_SECURITY_GROUP is not set',
    );
    await expect(fault(join(dir, 'none.toml'))).rejects.toThrow(/--provider-config: .*none\.toml/);
    await expect(fault(file('bad.toml', 'Region = '))).rejects.toThrow(/--provider-config .*bad\.toml: /);
    await expect(fault(file('list.yaml', '- a\n'))).rejects.toThrow('must hold settings by name');
  });
});
