import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { UserNamespaces, type UserNamespacesDeps } from '../../../src/containers/userns/userns-manager.ts';
import { UserRanges } from '../../../src/containers/userns/ranges.ts';
import { nodeIds, type SubordinateIds } from '../../../src/containers/userns/subordinate-ids.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { Pod } from '../../../src/kube/types.ts';
import { NamespaceMode } from '../../../src/provider/cri-messages.ts';

const unit = 65_536;
const noOwner: SubordinateIds = { hasUser: () => false, getsubids: async () => undefined };
const low = { ...systemRandom, float: () => 0 };
const podOf = (uid: string, hostUsers?: boolean): Pod => ({
  metadata: { name: uid, namespace: 'default', uid },
  spec: { containers: [], ...(hostUsers !== undefined && { hostUsers }) },
});

let rootDir = '';
beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'pt-userns-'));
});
afterEach(() => {
  rmSync(rootDir, { recursive: true });
});

const start = (deps: Partial<UserNamespacesDeps> = {}): Promise<UserNamespaces> =>
  UserNamespaces.start({
    rootDir,
    random: low,
    host: noOwner,
    maxPods: 110,
    handlers: () => [{ name: '', recursiveReadOnlyMounts: false, userNamespaces: true }],
    ...deps,
  });

const fileOf = (uid: string): string => join(rootDir, 'pods', uid, 'userns');
const mapping = (hostId: number, length = unit): object => {
  const ids = [{ hostId, containerId: 0, length }];
  return { mode: NamespaceMode.POD, uids: ids, gids: ids };
};
/** What a kubelet writes. */
const text = (hostId: number, length = unit): string =>
  `{"uidMappings":[{"hostId":${hostId},"containerId":0,"length":${length}}],"gidMappings":[{"hostId":${hostId},"containerId":0,"length":${length}}]}`;

function leave(uid: string, content: string): void {
  mkdirSync(join(rootDir, 'pods', uid), { recursive: true });
  writeFileSync(fileOf(uid), content);
}

describe('a pod with users of its own', () => {
  test('has a range of ids that no other pod has, and keeps it', async () => {
    const users = await start();
    expect(users.of(podOf('a', false), '')).toEqual(mapping(unit));
    expect(users.of(podOf('b', false), '')).toEqual(mapping(2 * unit));
    expect(users.of(podOf('a', false), '')).toEqual(mapping(unit));
    expect(readFileSync(fileOf('b'), 'utf8')).toBe(text(2 * unit));
  });

  test('keeps its ids when the agent starts anew, and others are not given them', async () => {
    const before = await start();
    before.of(podOf('a', false), '');
    const users = await start();
    expect(users.of(podOf('b', false), '')).toEqual(mapping(2 * unit));
    expect(users.of(podOf('a', false), '')).toEqual(mapping(unit));
  });

  test('releases its ids when it ends, loses its directory, or is unknown', async () => {
    const users = await start();
    for (const uid of ['a', 'b', 'c', 'd']) users.of(podOf(uid, false), '');
    users.release('a');
    rmSync(join(rootDir, 'pods/b'), { recursive: true });
    users.releaseOrphans((uid) => uid !== 'c');
    for (const uid of ['a', 'b', 'c']) expect(() => readFileSync(fileOf(uid))).toThrow('ENOENT');
    expect(['e', 'f', 'g'].map((uid) => users.of(podOf(uid, false), ''))).toEqual([
      mapping(unit),
      mapping(2 * unit),
      mapping(3 * unit),
    ]);
    expect(users.of(podOf('d', false), '')).toEqual(mapping(4 * unit));
  });

  test.for([undefined, true])('is not one with hostUsers: %s', async (hostUsers) => {
    const users = await start({ handlers: () => undefined });
    expect(users.of(podOf('a', hostUsers), '')).toEqual({ mode: NamespaceMode.NODE });
    expect(() => readFileSync(fileOf('a'))).toThrow('ENOENT');
  });

  test.for([
    [undefined, '', 'runtime does not support user namespaces'],
    [[], '', 'runtime does not support user namespaces'],
    [
      [{ name: '', recursiveReadOnlyMounts: true, userNamespaces: true }],
      'kata',
      'RuntimeClass handler "kata" does not support user namespaces: the handler "kata" is not known',
    ],
    [
      [{ name: '', recursiveReadOnlyMounts: true, userNamespaces: false }],
      '',
      'runtime does not support user namespaces',
    ],
  ] as const)('is refused where the runtime cannot: %j %s', async ([handlers, handler, reason]) => {
    const users = await start({ handlers: () => handlers });
    expect(() => users.of(podOf('a', false), handler)).toThrow(
      expect.objectContaining({ message: `can't set \`spec.hostUsers: false\`, ${reason}` }),
    );
  });

  test('has no ids when its file cannot be written', async () => {
    const users = await start();
    mkdirSync(`${fileOf('a')}.next`, { recursive: true });
    expect(() => users.of(podOf('a', false), '')).toThrow(/^create user namespace: open .*: is a directory$/);
    expect(users.of(podOf('b', false), '')).toEqual(mapping(unit));
  });
});

test.for([
  ['no JSON', '{', 'invalid user namespace mappings file: '],
  ['no mapping', '{}', 'no more than one mapping allowed.'],
  ['users without groups', '{"uidMappings":[{"hostId":65536,"length":65536}]}', 'should be identical.'],
  ['a negative id', text(-65536), 'not a 32 bit number'],
  ['root left out', text(unit).replaceAll('"containerId":0', '"containerId":1'), 'UID 0 must be mapped'],
  ['differing groups', text(unit).replace(`${unit}`, `${2 * unit}`), 'mapping should be identical'],
  ['a wrong length', text(unit, 2 * unit), 'wrong user namespace length 131072'],
  ['a wrong offset', text(unit + 1), 'wrong user namespace offset specified 65537'],
  ['root of the host', text(0), 'id 0 is out of range'],
  ["another pod's range", text(3 * unit), 'range picked for pod "b" already taken'],
] as const)('the agent does not start with a file of %s', async ([, content, reason]) => {
  leave('a', text(3 * unit));
  leave('b', content);
  await expect(start()).rejects.toThrow(reason);
  await expect(start()).rejects.toThrow(
    'create user namespace manager: record pod mappings for existing pod "b": ',
  );
});

test('a file that changes under a pod is an error of the pod', async () => {
  const users = await start();
  users.of(podOf('a', false), '');
  leave('a', text(5 * unit));
  expect(() => users.of(podOf('a', false), '')).toThrow(
    'user namespace: different user namespace range already used by pod "a"',
  );
});

describe("the node's ids", () => {
  const owner = (users: string, groups = users): SubordinateIds => ({
    hasUser: (name) => name === 'kubelet',
    getsubids: async (...args) => (args[0] === '-g' ? groups : users),
  });

  test('are nearly all, unless there is a user kubelet with ids of its own', async () => {
    const all = { first: unit, length: 2 ** 32 - unit };
    expect(await nodeIds(unit, noOwner)).toEqual(all);
    expect(await nodeIds(unit, { ...noOwner, hasUser: () => true })).toEqual(all);
    expect(await nodeIds(unit, owner('0: kubelet 131072 7208960\n'))).toEqual({
      first: 131_072,
      length: 7_208_960,
    });
  });

  test.for([
    ['0: kubelet 65536 65536\n1: kubelet 1 2\n', undefined, 'it must contain only one line'],
    ['kubelet 65536 65536\n', undefined, String.raw`invalid line "kubelet 65536 65536\n"`],
    ['0: kubelet a 65536\n', undefined, 'strconv.ParseUint: parsing "a": invalid syntax'],
    ['0: kubelet 4294967296 1\n', undefined, 'parsing "4294967296": value out of range'],
    ['0: kubelet 65536 65536\n', '', 'mismatched subuids and subgids for user "kubelet"'],
  ] as const)('%j are refused', async ([users, groups, reason]) => {
    await expect(nodeIds(unit, owner(users, groups))).rejects.toThrow(reason);
  });

  test('that cannot be asked for are an error', async () => {
    const failing = { ...owner(''), getsubids: () => Promise.reject(new Error('exit 1')) };
    await expect(start({ host: failing })).rejects.toThrow(
      'create user namespace manager: kubelet mappings: error retrieving additional ids for user "kubelet"',
    );
  });

  test.for([
    [{ first: unit, length: 110 * unit }, unit + 1, 'length 65537 is not a multiple of 65536'],
    [{ first: unit, length: 110 * unit }, 2 * unit, 'ID 65536 is not a multiple of 131072'],
    [{ first: 0, length: 110 * unit }, unit, 'ID 0 must be greater or equal to 65536'],
    [{ first: unit, length: unit + 1 }, unit, 'IDs length 65537 is not a multiple of 65536'],
    [{ first: unit, length: 109 * unit }, unit, 'IDs are not enough to support 110 pods'],
  ] as const)('%j in parts of %d do not do', ([ids, idsPerPod, reason]) => {
    expect(() => new UserRanges({ ids, idsPerPod, maxPods: 110, random: low })).toThrow(reason);
  });

  test('run out, and are looked for from anywhere on', () => {
    const random = { ...systemRandom, float: () => 0.99 };
    const ids = { first: 2 * unit, length: 3 * unit };
    const ranges = new UserRanges({ ids, idsPerPod: unit, maxPods: 3, random });
    expect(['a', 'b', 'c'].map((uid) => ranges.allocate(uid).first / unit)).toEqual([4, 2, 3]);
    expect(() => ranges.allocate('d')).toThrow('could not find an empty slot to allocate a user namespace');
    ranges.release('b');
    expect(ranges.allocate('d')).toEqual({ first: 2 * unit, length: unit });
  });
});
