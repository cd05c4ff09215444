import { describe, expect, test } from 'vitest';
import type { Pod, PodSpec, Secret } from '../../../src/kube/types.ts';
import { flatten } from '../../../src/providers/eci/api.ts';
import { groupRequest, type ResolvedPod, resolvePod } from '../../../src/providers/eci/convert-pod.ts';
import { filesBudget } from '../../../src/providers/eci/convert-volume.ts';
import { groupSize, legalSize } from '../../../src/providers/eci/sizes.ts';

const settings = {
  region: 'cn-hangzhou',
  credentials: { accessKeyId: 'i', accessKeySecret: 's' },
  securityGroup: 'sg-1',
  vSwitch: 'vsw-1,vsw-2',
};
const owner = { clusterName: 'c', nodeName: 'n' };
const nothing: ResolvedPod = { env: new Map(), files: new Map(), dns: {}, hostname: '', pullSecrets: [] };

const podOf = (spec: Partial<PodSpec>, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u-1',
    creationTimestamp: '2026-03-04T05:06:07Z',
    ...metadata,
  },
  spec: { containers: [{ name: 'main', image: 'web:1' }], ...spec },
});

const query = (pod: Pod, resolved: Partial<ResolvedPod> = {}): Record<string, string> =>
  flatten(groupRequest(pod, { ...nothing, ...resolved }, { owner, settings, clientToken: 't' }));

describe('a pod as a request', () => {
  test('names, network, owner and token', () => {
    expect(
      query(
        podOf({ restartPolicy: 'OnFailure', terminationGracePeriodSeconds: 7, activeDeadlineSeconds: 60 }),
      ),
    ).toMatchObject({
      RegionId: 'cn-hangzhou',
      SecurityGroupId: 'sg-1',
      VSwitchId: 'vsw-1,vsw-2',
      ContainerGroupName: 'default-web',
      RestartPolicy: 'OnFailure',
      TerminationGracePeriodSeconds: '7',
      ActiveDeadlineSeconds: '60',
      ClientToken: 't',
      'Tag.1.Key': 'ClusterName',
      'Tag.1.Value': 'c',
      'Tag.2.Value': 'n',
      'Tag.5.Key': 'UID',
      'Tag.5.Value': 'u-1',
      'Tag.6.Value': '2026-03-04T05-06-07Z',
    });
  });

  test('E5: command and arguments stay apart; arguments alone leave the entrypoint', () => {
    const request = query(podOf({ containers: [{ name: 'main', image: 'web', args: ['-v', ''] }] }));
    expect(request).toMatchObject({ 'Container.1.Arg.1': '-v', 'Container.1.Arg.2': '' });
    expect(Object.keys(request).some((name) => name.includes('Command'))).toBe(false);
  });

  test('E7: the larger of request and limit, rounded up to hundredths, and the group to a size on sale', () => {
    const resources = { requests: { cpu: '333m', memory: '100Mi' }, limits: { memory: '1500Mi' } };
    expect(query(podOf({ containers: [{ name: 'main', image: 'web', resources }] }))).toMatchObject({
      'Container.1.Cpu': '0.34',
      'Container.1.Memory': '1.47',
      Cpu: '0.5',
      Memory: '2',
    });
    expect(query(podOf({}))).not.toHaveProperty('Cpu');
    expect(legalSize({ cpu: 3, memory: 1 })).toEqual({ cpu: 4, memory: 2 });
    expect(legalSize({ cpu: 1000, memory: 1 })).toBeUndefined();
    expect(
      groupSize(
        [{ name: 'a', resources: { requests: { cpu: '1' } } }],
        [{ name: 'i', resources: { requests: { cpu: '3' } } }],
      ),
    ).toEqual({
      cpu: 3,
      memory: 0,
    });
  });

  test('E6: variables are values; fields that only the cloud knows stay fields', async () => {
    const pod = podOf({
      containers: [
        {
          name: 'main',
          image: 'web',
          env: [
            { name: 'A', value: 'x' },
            { name: 'B', value: '$(A)-y' },
            { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          ],
        },
      ],
    });
    const resolved = await resolvePod(pod, undefined, []);
    expect(query(pod, resolved)).toMatchObject({
      'Container.1.EnvironmentVar.1.Key': 'A',
      'Container.1.EnvironmentVar.2.Value': 'x-y',
      'Container.1.EnvironmentVar.3.Key': 'IP',
      'Container.1.EnvironmentVar.3.FieldRef.FieldPath': 'status.podIP',
    });
    const reference = podOf({
      containers: [
        { name: 'main', env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'm', key: 'k' } } }] },
      ],
    });
    await expect(resolvePod(reference, undefined, [])).rejects.toThrow(
      'variable A of container main refers to API objects',
    );
  });

  test('probes, hooks and ports by name', () => {
    const request = query(
      podOf({
        containers: [
          {
            name: 'main',
            image: 'web',
            ports: [{ name: 'http', containerPort: 8080 }],
            readinessProbe: { httpGet: { port: 'http', path: '/ready' }, periodSeconds: 3 },
            livenessProbe: { exec: { command: ['true'] }, initialDelaySeconds: 9 },
            lifecycle: {
              preStop: { exec: { command: ['stop', 'now'] } },
              postStart: { httpGet: { port: 'http' } },
            },
          },
        ],
      }),
    );
    expect(request).toMatchObject({
      'Container.1.Port.1.Port': '8080',
      'Container.1.ReadinessProbe.HttpGet.Port': '8080',
      'Container.1.ReadinessProbe.PeriodSeconds': '3',
      'Container.1.LivenessProbe.Exec.Command.1': 'true',
      'Container.1.LivenessProbe.InitialDelaySeconds': '9',
      'Container.1.LifecyclePreStopHandlerExec.2': 'now',
      'Container.1.LifecyclePostStartHandlerHttpGetPort': '8080',
      'Container.1.LifecyclePostStartHandlerHttpGetPath': '/',
    });
  });

  test('volumes: files with modes, empty directories, NFS and flex', () => {
    const pod = podOf({
      volumes: [
        { name: 'conf', configMap: { name: 'm', defaultMode: 0o644 } },
        { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '1Gi' } },
        { name: 'nfs', nfs: { server: 's', path: '/p', readOnly: true } },
        { name: 'disk', flexVolume: { driver: 'alicloud/disk', options: { VolumeId: 'd-1' } } },
      ],
      containers: [
        {
          name: 'main',
          image: 'web',
          volumeMounts: [{ name: 'conf', mountPath: '/etc/c', readOnly: true, subPath: 'a' }],
        },
      ],
    });
    const files = new Map([['conf', [{ path: 'a/b', bytes: Buffer.from('hello'), mode: 0o600 }]]]);
    expect(query(pod, { files })).toMatchObject({
      'Container.1.VolumeMount.1.SubPath': 'a',
      'Volume.1.Type': 'ConfigFileVolume',
      'Volume.1.ConfigFileVolume.DefaultMode': '420',
      'Volume.1.ConfigFileVolume.ConfigFileToPath.1.Path': 'a/b',
      'Volume.1.ConfigFileVolume.ConfigFileToPath.1.Content': 'aGVsbG8=',
      'Volume.1.ConfigFileVolume.ConfigFileToPath.1.Mode': '384',
      'Volume.2.EmptyDirVolume.Medium': 'Memory',
      'Volume.3.NFSVolume.ReadOnly': 'true',
      'Volume.4.FlexVolume.Options': '{"VolumeId":"d-1"}',
    });
  });

  test('files beyond what a request can carry are refused with their sizes', () => {
    const pod = podOf({ volumes: [{ name: 'big', configMap: { name: 'm' } }] });
    const files = new Map([['big', [{ path: 'a', bytes: Buffer.alloc(filesBudget), mode: 0o644 }]]]);
    expect(() => query(pod, { files })).toThrow(/files of the pod's volumes take 81920 bytes.*big: 81920/);
  });

  test('E18: pull secrets of both forms, with auth or user and password', () => {
    const secret = (type: string, key: string, value: object): Secret => ({
      metadata: { name: 's' },
      type,
      data: { [key]: Buffer.from(JSON.stringify(value)).toString('base64') },
    });
    const auth = Buffer.from('user:pa:ss').toString('base64');
    const pullSecrets = [
      secret('kubernetes.io/dockerconfigjson', '.dockerconfigjson', {
        auths: { 'https://r.example/v1/': { auth } },
      }),
      secret('kubernetes.io/dockercfg', '.dockercfg', { 'q.example': { username: 'u', password: 'p' } }),
    ];
    expect(query(podOf({}), { pullSecrets })).toMatchObject({
      'ImageRegistryCredential.1.Server': 'r.example',
      'ImageRegistryCredential.1.UserName': 'user',
      'ImageRegistryCredential.1.Password': 'pa:ss',
      'ImageRegistryCredential.2.Server': 'q.example',
    });
    const opaque = { metadata: { name: 'o' }, type: 'Opaque' };
    expect(() => query(podOf({}), { pullSecrets: [opaque] })).toThrow(
      'pull secret o is of type Opaque; it must be',
    );
  });

  test('annotations tune a group; unknown ones and wrong values are named', () => {
    const annotated = (annotations: Record<string, string>): Pod => podOf({}, { annotations });
    expect(
      query(
        annotated({
          'k8s.aliyun.com/eci-spot-strategy': 'SpotAsPriceGo',
          'k8s.aliyun.com/eci-with-eip': 'true',
          other: 'x',
        }),
      ),
    ).toMatchObject({ SpotStrategy: 'SpotAsPriceGo', AutoCreateEip: 'true' });
    expect(() => query(annotated({ 'k8s.aliyun.com/eci-nonsense': '1' }))).toThrow(
      'annotation k8s.aliyun.com/eci-nonsense is not known',
    );
    expect(() => query(annotated({ 'k8s.aliyun.com/eci-eip-bandwidth': 'fast' }))).toThrow(
      'is "fast"; it must be a number',
    );
    expect(() => query(annotated({ 'k8s.aliyun.com/eci-constructor': '1' }))).toThrow('is not known');
  });

  test('DNS, host aliases, users and sysctls', () => {
    const pod = podOf({
      hostAliases: [{ ip: '10.0.0.1', hostnames: ['a', 'b'] }],
      securityContext: { runAsUser: 5, sysctls: [{ name: 'net.core.somaxconn', value: '1024' }] },
      shareProcessNamespace: true,
    });
    const dns = { servers: ['10.1.0.10'], searches: ['svc.local'], options: ['ndots:5', 'rotate'] };
    expect(query(pod, { dns, hostname: 'web-0' })).toMatchObject({
      HostName: 'web-0',
      'HostAliase.1.Hostname.2': 'b',
      DnsPolicy: 'None',
      'DnsConfig.NameServer.1': '10.1.0.10',
      'DnsConfig.Option.1.Name': 'ndots',
      'DnsConfig.Option.1.Value': '5',
      'DnsConfig.Option.2.Name': 'rotate',
      'Container.1.SecurityContext.RunAsUser': '5',
      'SecurityContext.Sysctl.1.Name': 'net.core.somaxconn',
      ShareProcessNamespace: 'true',
    });
  });

  test('a name that is too long is shortened, with a hash', () => {
    const name = query(podOf({}, { name: 'x'.repeat(250) }))['ContainerGroupName'] ?? '';
    expect(name).toHaveLength(128);
    expect(name).toMatch(/^default-x+-[0-9a-f]{8}$/);
  });
});
