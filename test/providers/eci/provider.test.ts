import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Pod, PodSpec } from '../../../src/kube/types.ts';
import { BuiltinEciApi } from '../../../src/providers/eci/index.ts';
import { eciNodeBed, type EciNodeBed } from '../../support/eci-node.ts';

let bed: EciNodeBed;
beforeEach(async () => {
  bed = await eciNodeBed();
});
afterEach(() => bed.stop());

const image = (name: string, spec: Partial<PodSpec> = {}): Partial<PodSpec> => ({
  containers: [{ name: 'main', image: name }],
  terminationGracePeriodSeconds: 5,
  ...spec,
});
const status = (name: string): NonNullable<Pod['status']> => bed.node.pod(name)?.status ?? {};
const main = (name: string): NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number] => {
  const found = status(name).containerStatuses?.[0];
  if (!found) throw new Error(`pod ${name} has no container statuses: ${JSON.stringify(status(name))}`);
  return found;
};

describe('a life', () => {
  test("a pod becomes a container group, runs, is Ready with the group's address, and goes with it", async () => {
    const uid = bed.node.create('web', image('web'));
    await bed.advance(12);
    expect(bed.eci.groups).toMatchObject([{ uid, status: 'Running', name: 'default-web' }]);
    expect(status('web')).toMatchObject({ phase: 'Running', podIP: '10.0.0.2' });
    expect(main('web')).toMatchObject({ ready: true, started: true, restartCount: 0, image: 'web' });
    expect(main('web').containerID).toMatch(/^eci:\/\/eci-00000001\/main#0$/);
    bed.node.delete('web');
    await bed.advance(15);
    expect(bed.node.pod('web')).toBeUndefined();
    expect(bed.eci.groups).toEqual([]);
  });

  test("exit codes are the group's own", async () => {
    bed.node.create('good', image('exit:0', { restartPolicy: 'Never' }));
    bed.node.create('bad', image('exit:3', { restartPolicy: 'Never' }));
    await bed.advance(20);
    expect(status('good').phase).toBe('Succeeded');
    expect(status('bad').phase).toBe('Failed');
    expect(main('bad').state?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
  });

  test('a crash loop shows its restarts and its last end', async () => {
    bed.node.create('loop', image('crashloop'));
    await bed.advance(45);
    expect(status('loop').phase).toBe('Running');
    expect(main('loop').restartCount).toBeGreaterThan(0);
    expect(main('loop').state?.waiting?.reason).toBe('CrashLoopBackOff');
    expect(main('loop').lastState?.terminated?.exitCode).toBe(1);
  });

  test('an init container runs first; one that fails ends a pod that never restarts', async () => {
    const withInit = (name: string): Partial<PodSpec> =>
      image('web', { restartPolicy: 'Never', initContainers: [{ name: 'init', image: name }] });
    bed.node.create('fine', withInit('exit:0'));
    bed.node.create('broken', withInit('exit:7'));
    await bed.advance(20);
    expect(status('fine').phase).toBe('Running');
    expect(status('broken').phase).toBe('Failed');
    expect(status('broken').initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(7);
  });

  test("an image that cannot be pulled is the waiting reason, and the cloud's event becomes the pod's", async () => {
    bed.node.create('nopull', image('pullfail'));
    await bed.advance(70);
    expect(status('nopull').phase).toBe('Pending');
    expect(main('nopull').state?.waiting?.reason).toBe('ImagePullBackOff');
    expect(bed.node.events.filter((event) => event.includes('Failed to pull image'))).toHaveLength(1);
  });
});

test('an image that is changed later: the group goes on, and the pod has one event that says so', async () => {
  bed.node.create('web', image('web'));
  await bed.advance(15);
  bed.node.update('web', (pod) => ({
    ...pod,
    spec: { ...pod.spec!, containers: pod.spec!.containers.map((one) => ({ ...one, image: 'web:2' })) },
  }));
  await bed.advance(200);
  expect(bed.node.events.filter((event) => event.includes('ECIUpdateNotSupported'))).toHaveLength(1);
  expect(main('web')).toMatchObject({ ready: true, restartCount: 0 });
});

describe('defects of the reference provider', () => {
  test('E1: a listing whose page fails changes nothing', async () => {
    for (let index = 0; index < 30; index++) bed.node.create(`p-${String(index)}`, image('web'));
    await bed.advance(20);
    expect(bed.eci.groups.filter(({ status: is }) => is === 'Running')).toHaveLength(30);
    const before = bed.node.api.pods().map(({ status: is }) => is?.phase);
    bed.eci.faults.push({ kind: 'error', action: 'DescribeContainerGroups', from: 2 });
    await bed.advance(300);
    expect(bed.node.api.pods().map(({ status: is }) => is?.phase)).toEqual(before);
    expect(bed.eci.groups).toHaveLength(30);
  });

  test('E2: a successor of the same name is another pod, and the deletion of the first does not touch it', async () => {
    const first = bed.node.create('twin', image('slow-delete:20', { terminationGracePeriodSeconds: 30 }));
    await bed.advance(10);
    bed.node.delete('twin', 0); // gone from the API at once, the group still there
    const second = bed.node.create('twin', image('web'));
    await bed.advance(60);
    expect(second).not.toBe(first);
    expect(bed.eci.groups).toMatchObject([{ uid: second, status: 'Running' }]);
    expect(main('twin').ready).toBe(true);
  });

  test('E3: statuses are not listed pod by pod', async () => {
    for (let index = 0; index < 20; index++) bed.node.create(`p-${String(index)}`, image('web'));
    await bed.advance(20);
    const from = bed.eci.calls.length;
    await bed.advance(60);
    expect(bed.eci.calls.length - from).toBeLessThan(20);
  });

  test("E8: a DaemonSet's pod and what groups cannot do are refused by name", async () => {
    bed.node.create('daemon', image('web'), {
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs', uid: 'd', controller: true },
      ],
    });
    bed.node.create(
      'host',
      image('web', { hostNetwork: true, volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
    );
    await bed.advance(3);
    expect(status('daemon')).toMatchObject({ phase: 'Failed', reason: 'UnsupportedByECI' });
    expect(status('daemon').message).toContain('DaemonSet logs');
    expect(status('host').message).toMatch(/spec\.hostNetwork.*volumes\{v\}\.hostPath/);
    expect(bed.eci.calls.some(({ action }) => action === 'CreateContainerGroup')).toBe(false);
  });

  test("E10, E11: readiness is the group's", async () => {
    bed.node.create('unready', image('neverready'));
    await bed.advance(15);
    expect(status('unready').phase).toBe('Running');
    expect(main('unready').ready).toBe(false);
    expect(status('unready').conditions?.find(({ type }) => type === 'Ready')?.status).toBe('False');
  });

  test("E15: the pod stays until its group is gone, and its containers' end is reported", async () => {
    bed.node.create('slow', image('slow-delete:20', { terminationGracePeriodSeconds: 30 }));
    await bed.advance(10);
    bed.node.delete('slow');
    await bed.advance(10);
    expect(bed.node.pod('slow')?.metadata?.deletionTimestamp).toBeDefined();
    expect(bed.eci.groups).toMatchObject([{ status: 'Terminating' }]);
    await bed.advance(25);
    expect(bed.node.pod('slow')).toBeUndefined();
  });

  test('E19: no secret is logged or shown in an event', async () => {
    bed.eci.faults.push({ kind: 'reset', times: 5 }, { kind: 'throttle', times: 3 });
    bed.node.create(
      'web',
      image('web', {
        containers: [{ name: 'main', image: 'web', env: [{ name: 'P', value: 'pod-secret' }] }],
      }),
    );
    await bed.advance(60);
    const all = [...bed.log, ...bed.node.events].join('\n');
    expect(all).not.toMatch(/very-secret|pod-secret/);
  });

  test('E20: a creation whose answer is lost makes one group', async () => {
    bed.eci.faults.push({ kind: 'hang', action: 'CreateContainerGroup', times: 1, afterEffect: true });
    bed.node.create('once', image('web'));
    await bed.advance(60);
    bed.eci.faults.length = 0;
    await bed.advance(30);
    expect(bed.eci.groups).toHaveLength(1);
    expect(main('once').ready).toBe(true);
  });

  test('E21: a cloud away fails the ping, and nothing else changes', async () => {
    bed.node.create('web', image('web'));
    await bed.advance(15);
    bed.eci.faults.push({ kind: 'reset' });
    const writes = bed.node.writes.length;
    await bed.advance(600);
    await expect(bed.provider().ping(new AbortController().signal)).rejects.toThrow(
      /ECI is unreachable: NetworkError/,
    );
    expect(status('web').phase).toBe('Running');
    expect(bed.node.writes.length).toBe(writes);
    bed.eci.faults.length = 0;
    await bed.advance(15);
    await bed.provider().ping(new AbortController().signal);
    expect(main('web').ready).toBe(true);
  });
});

describe('the cloud misbehaves', () => {
  test('no stock: the pod waits with the code, and is tried less and less often', async () => {
    bed.node.create('nostock', image('nostock'));
    await bed.advance(100);
    expect(status('nostock').phase).toBe('Pending');
    expect(bed.node.events.some((event) => event.includes('OperationDenied.NoStock'))).toBe(true);
    const tries = bed.eci.calls.filter(({ action }) => action === 'CreateContainerGroup').length;
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(6);
  });

  test('a throttling storm delays and loses nothing', async () => {
    bed.eci.faults.push({ kind: 'throttle', times: 40, retryAfterSeconds: 1 });
    for (let index = 0; index < 10; index++) bed.node.create(`p-${String(index)}`, image('web'));
    await bed.advance(240);
    expect(bed.eci.groups).toHaveLength(10);
    expect(bed.node.api.pods().every(({ status: is }) => is?.phase === 'Running')).toBe(true);
  });

  test('a group that is deleted in the console is gone after two listings, and its pod has failed with 137', async () => {
    bed.node.create('taken', image('web', { restartPolicy: 'Never' }));
    await bed.advance(15);
    bed.eci.forget(bed.eci.groups[0]?.id ?? '');
    await bed.advance(50);
    expect(status('taken').phase).toBe('Running');
    await bed.advance(140);
    expect(status('taken')).toMatchObject({ phase: 'Failed', reason: 'ECIGroupGone' });
    expect(main('taken').state?.terminated).toMatchObject({
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
    });
  });

  test('a new group that listings show late is not made again', async () => {
    bed.eci.hideNewGroups(3);
    bed.node.create('late', image('web'));
    await bed.advance(250);
    expect(bed.eci.groups).toHaveLength(1);
    expect(main('late').ready).toBe(true);
  });

  test('expired credentials: no pod is touched, and new ones are taken up', async () => {
    await bed.stop();
    let token = 't-1';
    bed = await eciNodeBed({
      credentials: () => ({ accessKeyId: 'sts', accessKeySecret: 'very-secret', securityToken: token }),
    });
    bed.node.create('web', image('web'));
    await bed.advance(15);
    token = 'expired';
    await bed.advance(120);
    expect(status('web').phase).toBe('Running');
    await expect(bed.provider().ping(new AbortController().signal)).rejects.toThrow(/InvalidSecurityToken/);
    token = 't-1';
    await bed.advance(20);
    await bed.provider().ping(new AbortController().signal);
  });
});

describe('a restart of the agent', () => {
  test('adopts groups by UID and writes nothing', async () => {
    bed.node.create('web', image('web'));
    await bed.advance(15);
    const writes = bed.node.writes.length;
    await bed.node.restart();
    await bed.advance(90);
    expect(bed.eci.groups).toHaveLength(1);
    expect(bed.node.writes.slice(writes)).toEqual([]);
  });

  test('a group whose pod was deleted meanwhile is removed', async () => {
    bed.node.create('web', image('web'));
    await bed.advance(15);
    await bed.node.stop();
    bed.node.delete('web', 0);
    await bed.node.start();
    await bed.advance(40);
    expect(bed.eci.groups).toEqual([]);
  });

  test('a group that vanished meanwhile is not made again: its pod has failed', async () => {
    bed.node.create('web', image('web'));
    await bed.advance(15);
    await bed.node.stop();
    bed.eci.forget(bed.eci.groups[0]?.id ?? '');
    await bed.node.start();
    await bed.advance(200);
    expect(bed.eci.groups).toEqual([]);
    expect(status('web').phase).toBe('Failed');
    expect(main('web').state?.terminated?.exitCode).toBe(137);
  });
});

test('groups of other nodes and clusters are not touched, even if the service ignores the filter', async () => {
  const shared = {
    region: 'cn-hangzhou',
    endpoint: bed.eci.url,
    accessKeyId: 'id-1',
    accessKeySecret: 'very-secret',
  };
  const api = new BuiltinEciApi({ ...shared, credentials: shared, clock: bed.clock, fetch: bed.eci.fetch });
  for (const tags of [
    { ClusterName: 'test', NodeName: 'other', UID: 'u-1' },
    { ClusterName: 'other', NodeName: 'n', UID: 'u-2' },
    { ClusterName: 'test', NodeName: 'n' },
  ])
    await api.call(
      'CreateContainerGroup',
      {
        RegionId: 'cn-hangzhou',
        SecurityGroupId: 'sg-1',
        VSwitchId: 'vsw-1',
        ContainerGroupName: 'stranger',
        Container: [{ Name: 'main', Image: 'web' }],
        Tag: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
      },
      new AbortController().signal,
    );
  bed.node.create('web', image('web'));
  await bed.advance(200);
  expect(bed.eci.groups.map(({ status: is }) => is)).toEqual(['Running', 'Running', 'Running', 'Running']);
});

test('two groups of one pod: the older one stays', async () => {
  bed.node.create('web', image('web'));
  await bed.advance(15);
  const first = bed.eci.groups[0];
  const shared = {
    endpoint: bed.eci.url,
    credentials: { accessKeyId: 'id-1', accessKeySecret: 'very-secret' },
  };
  const api = new BuiltinEciApi({ ...shared, clock: bed.clock, fetch: bed.eci.fetch });
  const again = { ...first?.parameters, ClientToken: 'another' } as never;
  await api.call('CreateContainerGroup', again, new AbortController().signal);
  await bed.advance(90);
  expect(bed.eci.groups.map(({ id }) => id)).toEqual([first?.id]);
  expect(main('web').ready).toBe(true);
});
