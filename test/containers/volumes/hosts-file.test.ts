import { expect, test } from 'vitest';
import { nodeHostsFile } from '../../../src/containers/volumes/hosts-file.ts';

test('an alias without address or names is written without them', () => {
  expect(nodeHostsFile('', [{ hostnames: ['a'] }, { ip: '::5' }])).toBe(
    '# Kubernetes-managed hosts file (host network).\n\n# Entries added by HostAliases.\n\ta\n::5\t\n',
  );
});
