import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContainerStatus, Node, Pod } from '../../src/kube/types.ts';
import { busyboxImage } from '../support/images.ts';
import { type Answering, grpcHealth, web } from './answering.ts';
import { CriNode, noCriNode, onePod, shell, sleeps, waiting } from './cri-node.ts';
import { condition, freePort } from './podtender.ts';

const image = { image: 'localhost/busybox:1', imagePullPolicy: 'IfNotPresent' };
const stays = sleeps;
/** Ends on its own. */
const once = { restartPolicy: 'Never' };

const statusOf = (pod: Pod, name = 'c'): ContainerStatus | undefined =>
  [
    ...(pod.status?.containerStatuses ?? []),
    ...(pod.status?.initContainerStatuses ?? []),
    ...(pod.status?.ephemeralContainerStatuses ?? []),
  ].find((status) => status.name === name);
const isReady = (pod: Pod): boolean => condition(pod, 'Ready') === 'True';
const hasEnded = (pod: Pod): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
const ended = (pod: Pod, name = 'c') => statusOf(pod, name)?.state?.terminated;

/** What pods do on a whole node: every test is a few pods of one agent, all at the same time. */
describe.skipIf(noCriNode !== undefined)('pods of a node', { timeout: 100_000, concurrent: true }, () => {
  let node: CriNode;

  beforeAll(async () => {
    node = await CriNode.start({
      images: [busyboxImage('localhost/usr1:1', { Cmd: ['/bin/sh'], StopSignal: 'SIGUSR1' })],
      args: ['--cluster-dns=10.96.0.10', '--cluster-domain=cluster.local'],
      config: { allowedUnsafeSysctls: ['kernel.msgmnb'] },
    });
  }, 60_000);

  afterAll(async () => {
    await node.stop();
  }, 60_000);

  const logs = async (pod: string, ...args: readonly string[]): Promise<string> =>
    (await node.agent.ok(['logs', pod, ...args])).trim();
  const exec = async (pod: string, script: string, ...args: readonly string[]): Promise<string> =>
    (await node.agent.ok(['exec', pod, ...args, '--', '/bin/sh', '-c', script])).trim();
  /** Runs a script to its end and gives back what it said. */
  const says = async (
    name: string,
    container: object,
    spec: object = {},
    metadata: object = {},
  ): Promise<string> => {
    await node.create(onePod(name, container, { ...once, ...spec }, metadata));
    const pod = await node.until(name, hasEnded);
    expect(ended(pod)?.exitCode, JSON.stringify(pod.status)).toBe(0);
    return logs(name);
  };
  const remove = (...pods: readonly string[]): Promise<string> =>
    node.agent.ok(['delete', 'pod', ...pods, '--wait=false']);
  const gone = (name: string): Promise<Pod> => node.until(name, (_, type) => type === 'DELETED');

  describe('containers one after the other', { concurrent: true }, () => {
    test('a pod whose init container fails stays there, and its containers do not start', async () => {
      const init = [{ name: 'init', ...image, ...shell('exit 3') }];
      await node.create(onePod('stuck', stays, { initContainers: init }));
      const pod = await node.until(
        'stuck',
        (one) => statusOf(one, 'init')?.state?.waiting?.reason === 'CrashLoopBackOff',
      );
      expect(pod.status?.phase).toBe('Pending');
      expect(waiting(pod).reason).toBe('PodInitializing');
      expect(statusOf(pod, 'init')?.lastState?.terminated?.exitCode).toBe(3);
      expect(condition(pod, 'Initialized')).toBe('False');
    });

    test('with restart policy Never a failed init container fails the pod', async () => {
      const init = [{ name: 'init', ...image, ...shell('exit 3') }];
      await node.create(onePod('failed-init', stays, { ...once, initContainers: init }));
      const pod = await node.until('failed-init', hasEnded);
      expect([pod.status?.phase, statusOf(pod)?.state?.waiting?.reason]).toEqual([
        'Failed',
        'PodInitializing',
      ]);
    });

    test('a sidecar runs before, beside and after the containers', async () => {
      const log = (who: string, then: string): object =>
        shell(`say() { echo $1 >> /shared/log; }; trap 'say ${who}-ends; exit 0' TERM; say ${who}; ${then}`);
      const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
      const wait = 'while :; do sleep 1000 & wait $$!; done';
      const init = [
        { name: 'side', ...image, ...log('side', wait), restartPolicy: 'Always', volumeMounts },
        { name: 'init', ...image, ...log('init', 'true'), volumeMounts },
      ];
      const volumes = [
        { name: 'shared', hostPath: { path: join(node.dir, 'order'), type: 'DirectoryOrCreate' } },
      ];
      await node.create(
        onePod(
          'order',
          { ...log('main', wait), volumeMounts },
          { initContainers: init, volumes, terminationGracePeriodSeconds: 20 },
        ),
      );
      await node.until('order', isReady);
      await remove('order');
      await gone('order');
      expect(readFileSync(join(node.dir, 'order/log'), 'utf8').split('\n')).toEqual([
        'side',
        'init',
        'main',
        'main-ends',
        'side-ends',
        '',
      ]);
    });

    test('an ephemeral container sees the processes of its target', async () => {
      await node.create(onePod('debugged', shell('exec sleep 4321')));
      await node.until('debugged', isReady);
      await node.agent.ok([
        'debug',
        'debugged',
        '--image=localhost/busybox:1',
        '--target=c',
        '-c',
        'dbg',
        '--',
        '/bin/sh',
        '-c',
        'ps; sleep 1000',
      ]);
      await node.until('debugged', (pod) => statusOf(pod, 'dbg')?.state?.running !== undefined);
      expect(await logs('debugged', '-c', 'dbg')).toContain('sleep 4321');
    });
  });

  describe('ends and restarts', { concurrent: true }, () => {
    test('a container beyond its memory is killed and says so', async () => {
      await node.create(
        onePod('oom', { ...shell('tail /dev/zero'), resources: { limits: { memory: '16Mi' } } }, once),
      );
      const pod = await node.until('oom', hasEnded);
      expect(ended(pod)).toMatchObject({ reason: 'OOMKilled', exitCode: 137 });
    });

    test('a failing exec probe restarts the container', async () => {
      const probe = {
        exec: { command: ['/bin/cat', '/tmp/healthy'] },
        periodSeconds: 1,
        failureThreshold: 2,
      };
      await node.create(
        onePod('unhealthy', {
          ...shell('touch /tmp/healthy; sleep 3; rm /tmp/healthy; sleep 1000'),
          livenessProbe: probe,
        }),
      );
      await node.until('unhealthy', (pod) => (statusOf(pod)?.restartCount ?? 0) > 0);
      expect(await node.told('unhealthy', 'Unhealthy')).toEqual([
        "Liveness probe failed: cat: can't open '/tmp/healthy': No such file or directory\n",
      ]);
      expect(await node.told('unhealthy', 'Killing')).toEqual([
        'Container c failed liveness probe, will be restarted',
      ]);
    });

    test('a container that crashes waits longer each time', async () => {
      await node.create(onePod('crashes', shell('echo again; exit 1')));
      const pod = await node.until('crashes', (one) => waiting(one).reason === 'CrashLoopBackOff');
      expect(waiting(pod).message).toMatch(
        /^back-off 10s restarting failed container=c pod=crashes_default\(.*\)$/,
      );
    });

    test('its own rules restart a container by its exit code', async () => {
      const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
      const script = 'test -e /shared/seen && exit 0; touch /shared/seen; exit 42';
      const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
      await node.create(
        onePod(
          'ruled',
          { ...shell(script), volumeMounts, restartPolicy: 'Never', restartPolicyRules: rules },
          {
            ...once,
            volumes: [{ name: 'shared', emptyDir: {} }],
          },
        ),
      );
      const pod = await node.until('ruled', hasEnded);
      expect([pod.status?.phase, statusOf(pod)?.restartCount]).toEqual(['Succeeded', 1]);
    });

    test('the hook before the stop runs within the grace period, and what exceeds it is killed', async () => {
      const preStop = (script: string): object => ({
        lifecycle: { preStop: { exec: { ...shell(script) } } },
      });
      const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
      const volumes = [
        { name: 'shared', hostPath: { path: join(node.dir, 'hooks'), type: 'DirectoryOrCreate' } },
      ];
      const traps = shell(
        `trap 'echo term >> /shared/log; exit 0' TERM; while :; do sleep 1000 & wait $$!; done`,
      );
      await node.create(
        onePod(
          'hooked',
          { ...traps, ...preStop('sleep 1; echo hook >> /shared/log'), volumeMounts },
          { volumes, terminationGracePeriodSeconds: 20 },
        ),
        onePod('too-long', { ...traps, ...preStop('sleep 1000') }, { terminationGracePeriodSeconds: 3 }),
      );
      await Promise.all(['hooked', 'too-long'].map((name) => node.until(name, isReady)));
      const startedAt = Date.now();
      await remove('hooked', 'too-long');
      await gone('hooked');
      expect(readFileSync(join(node.dir, 'hooks/log'), 'utf8')).toBe('hook\nterm\n');
      await gone('too-long');
      const seconds = (Date.now() - startedAt) / 1000;
      expect(seconds).toBeGreaterThan(3);
      expect(seconds).toBeLessThan(15); // 2 s more than the grace by the kubelet's rule, and a busy machine
    });

    test('hooks ask over the network, or wait', async () => {
      const server = await web(false);
      const get = (path: string): object => ({ httpGet: { host: '127.0.0.1', port: server.port, path } });
      const sleep = { sleep: { seconds: 2 } };
      await node.create(
        onePod(
          'asks',
          { ...stays, lifecycle: { postStart: get('/started'), preStop: get('/ends') } },
          { terminationGracePeriodSeconds: 20 },
        ),
        onePod(
          'waits',
          { ...stays, lifecycle: { postStart: sleep, preStop: sleep } },
          { terminationGracePeriodSeconds: 20 },
        ),
      );
      await Promise.all(['asks', 'waits'].map((name) => node.until(name, isReady)));
      const startedAt = Date.now();
      await remove('asks', 'waits');
      await gone('asks');
      expect(server.asked).toEqual(['/started', '/ends']);
      await gone('waits');
      expect(Date.now() - startedAt).toBeGreaterThan(2000);
      expect(Date.now() - startedAt).toBeLessThan(15_000);
      await server.close();
    });

    test('an image says which signal ends its containers; that a pod says it is a feature that is off', async () => {
      const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
      const volumes = [
        { name: 'shared', hostPath: { path: join(node.dir, 'signals'), type: 'DirectoryOrCreate' } },
      ];
      const notes = ['USR1', 'TERM'].map((name) => `trap 'echo ${name} >> /shared/log; exit 0' ${name}`);
      const script = shell(`${notes.join('; ')}; while :; do sleep 1000 & wait $$!; done`);
      await node.create(
        onePod(
          'signalled',
          { ...script, image: 'localhost/usr1:1', volumeMounts, lifecycle: { stopSignal: 'SIGINT' } },
          { volumes, os: { name: 'linux' }, terminationGracePeriodSeconds: 20 },
        ),
      );
      const { spec } = await node.until('signalled', isReady);
      expect(spec?.containers[0]?.lifecycle).toBeUndefined();
      await remove('signalled');
      await gone('signalled');
      expect(readFileSync(join(node.dir, 'signals/log'), 'utf8')).toBe('USR1\n');
    });

    test('the hook after the start runs in the container, and its failure ends it', async () => {
      const postStart = (script: string): object => ({
        lifecycle: { postStart: { exec: { ...shell(script) } } },
      });
      await node.create(
        onePod('started', { ...stays, ...postStart('echo yes > /tmp/hook') }),
        onePod('not-started', { ...stays, ...postStart('exit 9') }),
      );
      await node.until('started', isReady);
      expect(await exec('started', 'cat /tmp/hook')).toBe('yes');
      const [message = ''] = await node.told('not-started', 'FailedPostStartHook');
      expect(message).toBe('PostStartHook failed');
      await node.until('not-started', (pod) => (statusOf(pod)?.restartCount ?? 0) > 0);
    });

    test('a last word comes from the file, or from the log of what failed, within its limit', async () => {
      const fallback = { terminationMessagePolicy: 'FallbackToLogsOnError' };
      await node.create(
        onePod('message', { ...shell('printf done > /dev/termination-log') }, once),
        onePod('own-path', { ...shell('printf own > /tmp/last'), terminationMessagePath: '/tmp/last' }, once),
        onePod('fallback', { ...shell('echo from the log; exit 1'), ...fallback }, once),
        onePod('long', { ...shell('yes | head -c 9000 > /dev/termination-log') }, once),
      );
      const message = async (name: string): Promise<string> =>
        ended(await node.until(name, hasEnded))?.message ?? '';
      expect(await message('message')).toBe('done');
      expect(await message('own-path')).toBe('own');
      expect(await message('fallback')).toBe('from the log\n');
      expect((await message('long')).length).toBe(4096);
    });
  });

  describe('probes over the network', { concurrent: true }, () => {
    test('http and tcp probes reach the pod; the startup probe holds back the others', async () => {
      const serve = shell('sleep 2; mkdir /www; echo ok > /www/ok; httpd -p 8080 -h /www; exec sleep 1000');
      const startupProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1, failureThreshold: 30 };
      const readinessProbe = { httpGet: { path: '/ok', port: 'web' }, periodSeconds: 1, failureThreshold: 1 };
      const livenessProbe = { httpGet: { path: '/ok', port: 8080 }, periodSeconds: 1, failureThreshold: 100 };
      const ports = [{ name: 'web', containerPort: 8080 }];
      await node.create(onePod('served', { ...serve, ports, startupProbe, readinessProbe, livenessProbe }));
      const pod = await node.until('served', isReady);
      expect([statusOf(pod)?.started, statusOf(pod)?.restartCount]).toEqual([true, 0]);
      await exec('served', 'rm /www/ok');
      await node.until('served', (one) => statusOf(one)?.started === true && !isReady(one));
      expect(await node.told('served', 'Unhealthy', 'Readiness')).toContain(
        'Readiness probe failed: HTTP probe failed with statuscode: 404',
      );
    });

    test('grpc and https probes, of which the certificate does not matter', async () => {
      const [grpc, https]: readonly Answering[] = await Promise.all([grpcHealth('shop'), web(true)]);
      if (!grpc || !https) throw new Error('no servers');
      const often = { periodSeconds: 1, failureThreshold: 1 };
      const httpGet = { host: '127.0.0.1', port: https.port, scheme: 'HTTPS', path: '/well' };
      const own = { hostNetwork: true }; // its address is the node's, where the server is
      await node.create(
        onePod(
          'by-grpc',
          { ...stays, readinessProbe: { grpc: { port: grpc.port, service: 'shop' }, ...often } },
          own,
        ),
        onePod(
          'by-other',
          { ...stays, readinessProbe: { grpc: { port: grpc.port, service: 'bar' }, ...often } },
          own,
        ),
        onePod('by-https', { ...stays, readinessProbe: { httpGet, ...often } }),
      );
      await Promise.all(['by-grpc', 'by-https'].map((name) => node.until(name, isReady)));
      expect(grpc.asked[0]).toBe('/grpc.health.v1.Health/Check');
      expect(https.asked[0]).toBe('/well');
      grpc.isWell = https.isWell = false;
      expect(await node.told('by-grpc', 'Unhealthy', 'unhealthy (')).toContain(
        'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")',
      );
      expect(await node.told('by-https', 'Unhealthy', 'statuscode')).toContain(
        'Readiness probe failed: HTTP probe failed with statuscode: 500',
      );
      expect((await node.told('by-other', 'Unhealthy'))[0]).toMatch(
        /^Readiness probe failed: error: health rpc probe failed: rpc error: code = NotFound/,
      );
      await remove('by-grpc', 'by-other', 'by-https');
      await Promise.all(['by-grpc', 'by-other', 'by-https'].map(gone));
      await Promise.all([grpc.close(), https.close()]);
    });

    test('a port of the host leads to the container', async () => {
      const hostPort = await freePort();
      const ports = [{ containerPort: 8080, hostPort, hostIP: '127.0.0.1' }];
      const serve = shell('mkdir /www; echo through > /www/index.html; exec httpd -f -p 8080 -h /www');
      await node.create(
        onePod('host-port', {
          ...serve,
          ports,
          readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
        }),
      );
      const { status } = await node.until('host-port', isReady);
      expect(await (await fetch(`http://${status?.podIP ?? ''}:8080/`)).text()).toBe('through\n');
      expect(await (await fetch(`http://127.0.0.1:${hostPort}/`)).text()).toBe('through\n');
    });
  });

  describe('what a container finds', { concurrent: true }, () => {
    test('names and addresses: hosts, host name, domain, resolver', async () => {
      const hostAliases = [{ ip: '1.2.3.4', hostnames: ['alias-a', 'alias-b'] }];
      const names = await says('named', shell('hostname; hostname -f; cat /etc/hosts /etc/resolv.conf'), {
        hostname: 'host',
        subdomain: 'sub',
        hostAliases,
        dnsPolicy: 'ClusterFirst',
        dnsConfig: {
          nameservers: ['9.9.9.9'],
          searches: ['own.example'],
          options: [{ name: 'ndots', value: '2' }],
        },
      });
      const { status } = await node.agent.pod('named');
      const fqdn = 'host.sub.default.svc.cluster.local';
      expect(names).toMatch(/^host\n/);
      expect(names).toContain(`${status?.podIP ?? '-'}\t${fqdn}\thost\n`);
      expect(names).toContain('1.2.3.4\talias-a\talias-b\n');
      expect(names).toMatch(
        /search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local .*own\.example/,
      );
      expect(names).toContain('nameserver 10.96.0.10\nnameserver 9.9.9.9\n');
      expect(names).toMatch(/options ndots:2/);
      const alone = await says('fqdn', shell('hostname; cat /etc/resolv.conf'), {
        hostname: 'host',
        subdomain: 'sub',
        setHostnameAsFQDN: true,
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['9.9.9.9'] },
      });
      expect(alone).toBe(`${fqdn}\nnameserver 9.9.9.9`);
    });

    test('the environment: values, maps, secrets, fields, resources, expansion, services', async () => {
      await node.create(
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'env' },
          data: { ONE: 'one', 'not.a-shell.name': 'x' },
        },
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'env' }, stringData: { TWO: 'two' } },
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'db' },
          spec: { clusterIP: '10.97.0.77', ports: [{ port: 5432 }] },
        },
      );
      const from = (name: string, valueFrom: object): object => ({ name, valueFrom });
      const env = [
        from('KEY', { configMapKeyRef: { name: 'env', key: 'ONE' } }),
        from('GONE', { configMapKeyRef: { name: 'env', key: 'NO', optional: true } }),
        from('SECRET', { secretKeyRef: { name: 'env', key: 'TWO' } }),
        from('POD', { fieldRef: { fieldPath: 'metadata.name' } }),
        from('IP', { fieldRef: { fieldPath: 'status.podIP' } }),
        from('LABEL', { fieldRef: { fieldPath: "metadata.labels['app']" } }),
        from('CPU', { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } }),
        { name: 'EXPANDED', value: '$(KEY)-$(POD)-$(NOT)-$$(KEY)' },
      ];
      const envFrom = [
        { prefix: 'P_', configMapRef: { name: 'env' } },
        { secretRef: { name: 'env' } },
        { configMapRef: { name: 'not-there', optional: true } },
      ];
      const said = await says(
        'env',
        { command: ['/bin/env'], env, envFrom, resources: { limits: { cpu: '200m' } } },
        {},
        { labels: { app: 'shop' } },
      );
      const { status } = await node.agent.pod('env');
      const lines = said.split('\n');
      for (const line of [
        'P_ONE=one',
        'P_not.a-shell.name=x',
        'TWO=two',
        'KEY=one',
        'SECRET=two',
        'POD=env',
        'LABEL=shop',
        'CPU=200',
        `IP=${status?.podIP ?? '-'}`,
        'EXPANDED=one-env-$(NOT)-$(KEY)',
        'DB_SERVICE_HOST=10.97.0.77',
        'DB_PORT=tcp://10.97.0.77:5432',
      ])
        expect(lines).toContain(line);
      expect(said).not.toContain('GONE=');
      const without = await says('no-links', { command: ['/bin/env'] }, { enableServiceLinks: false });
      expect(without).not.toContain('DB_SERVICE_HOST');
    });

    test('keys of a file that an init container wrote', async () => {
      const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
      const file = "# made here\\nONE='1'\\nLINES='a\\nb' # two\\n";
      const writes = {
        ...image,
        ...shell(`printf "${file}" > /shared/app.env; ln -s /etc/passwd /shared/out`),
      };
      const from = (path: string, key: string, optional = false): object => ({
        name: key,
        valueFrom: { fileKeyRef: { volumeName: 'shared', path, key, optional } },
      });
      const spec = {
        initContainers: [{ name: 'init', ...writes, volumeMounts }],
        volumes: [{ name: 'shared', emptyDir: {} }],
      };
      await node.create(
        onePod('lacks-key', { ...stays, env: [from('app.env', 'TWO')] }, spec),
        onePod('no-file', { ...stays, env: [from('none.env', 'ONE')] }, spec),
        onePod('leads-out', { ...stays, env: [from('out', 'root')] }, spec),
      );
      const env = [from('app.env', 'ONE'), from('app.env', 'LINES'), from('none.env', 'GONE', true)];
      const said = await says('env-file', { command: ['/bin/env'], env }, spec);
      expect(said).toContain('ONE=1\n');
      expect(said).toContain('LINES=a\nb\n');
      expect(said).not.toContain('GONE=');
      const why = async (name: string) =>
        waiting(await node.until(name, (pod) => waiting(pod).reason === 'CreateContainerConfigError'))
          .message;
      expect(await why('lacks-key')).toBe('environment variable key "TWO" not found in file "app.env"');
      expect(await why('no-file')).toBe("couldn't parse env file");
      expect(await why('leads-out')).toBe('a symbolic link in "out" does not lead to within the volume');
    });

    test('a missing config map or key holds the container back until it is there', async () => {
      await node.create(onePod('lacks', { ...stays, envFrom: [{ configMapRef: { name: 'late' } }] }));
      const pod = await node.until('lacks', (one) => waiting(one).reason === 'CreateContainerConfigError');
      expect(waiting(pod).message).toBe('configmap "late" not found');
      await node.create({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'late' },
        data: { A: 'b' },
      });
      await node.until('lacks', isReady);
    });

    test('namespaces of the host and of the pod', async () => {
      const shared = await says('shared-pids', shell('ps | grep -c "[s]leep 2147"'), {
        shareProcessNamespace: true,
      });
      expect(Number(shared)).toBeGreaterThan(0);
      const inode = (kind: string): string => `readlink /proc/self/ns/${kind}`;
      const all = await says('host-ns', shell(['net', 'pid', 'ipc', 'uts'].map(inode).join('; ')), {
        hostNetwork: true,
        hostPID: true,
        hostIPC: true,
      });
      const host = ['net', 'pid', 'ipc', 'uts'].map((kind) => readlinkSync(`/proc/self/ns/${kind}`));
      expect(all.split('\n')).toEqual(host);
    });

    test('sysctls: safe ones are set, others refuse the pod', async () => {
      const sysctls = [{ name: 'kernel.shm_rmid_forced', value: '1' }];
      expect(
        await says('sysctl', shell('cat /proc/sys/kernel/shm_rmid_forced'), { securityContext: { sysctls } }),
      ).toBe('1');
      const allowed = [
        { name: 'kernel.msgmnb', value: '65537' },
        { name: 'net.ipv4.tcp_keepalive_time', value: '1234' }, // safe, as this kernel is young enough
      ];
      expect(
        await says('allowed', shell('cat /proc/sys/kernel/msgmnb /proc/sys/net/ipv4/tcp_keepalive_time'), {
          securityContext: { sysctls: allowed },
        }),
      ).toBe('65537\n1234');
      await node.create(
        onePod('unsafe', stays, { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
      );
      const { status } = await node.until('unsafe', hasEnded);
      expect([status?.phase, status?.reason]).toEqual(['Failed', 'SysctlForbidden']);
    });
  });

  describe('who it is and what it may', { concurrent: true }, () => {
    test('users, groups, capabilities, seccomp, read-only root', async () => {
      const securityContext = {
        runAsUser: 1000,
        runAsGroup: 1001,
        fsGroup: 2000,
        supplementalGroups: [3000],
        seccompProfile: { type: 'RuntimeDefault' },
      };
      const container = {
        ...shell(
          'id -u; id -g; id -G; grep -E "NoNewPrivs|Seccomp:|CapEff" /proc/self/status | tr "\\t\\n" "  "; echo; touch /x 2>&1; true',
        ),
        securityContext: {
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        },
      };
      const said = await says('least', container, { securityContext });
      expect(said).toMatch(
        /^1000\n1001\n1001 2000 3000\nCapEff: 0+ NoNewPrivs: 1 Seccomp: 2 *\ntouch: \/x: Read-only file system$/,
      );
      const more = await says('more', {
        ...shell('grep CapEff /proc/self/status; ls /dev | wc -l'),
        securityContext: { privileged: true },
      });
      expect(Number(more.split('\n')[1])).toBeGreaterThan(20);
      const strict = await says(
        'strict',
        { ...shell('id -G') },
        {
          securityContext: {
            runAsUser: 1000,
            runAsGroup: 7,
            supplementalGroups: [9],
            supplementalGroupsPolicy: 'Merge',
          },
        },
      );
      expect(strict).toBe('7 9');
    });

    test('a seccomp profile of the node forbids what it names', async () => {
      mkdirSync(join(node.rootDir, 'seccomp/own'), { recursive: true });
      const refused = { names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' };
      writeFileSync(
        join(node.rootDir, 'seccomp/own/no-folders.json'),
        JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', syscalls: [refused] }),
      );
      const seccompProfile = { type: 'Localhost', localhostProfile: 'own/no-folders.json' };
      const said = await says('seccomp', {
        ...shell('mkdir /x 2>&1; touch /y && echo made'),
        securityContext: { seccompProfile },
      });
      expect(said).toBe("mkdir: can't create directory '/x': Operation not permitted\nmade");
    });

    test('AppArmor profiles, where the kernel knows them; elsewhere such a pod is refused', async () => {
      const profile = (type: string): object => ({ securityContext: { appArmorProfile: { type } } });
      await node.create(
        onePod('armored', { ...shell('cat /proc/self/attr/current'), ...profile('RuntimeDefault') }, once),
        onePod('bare', { ...shell('true'), ...profile('Unconfined') }, once),
      );
      expect((await node.until('bare', hasEnded)).status?.phase).toBe('Succeeded');
      const { status } = await node.until('armored', hasEnded);
      if (existsSync('/sys/kernel/security/apparmor'))
        expect(await logs('armored')).toBe('cri-containerd.apparmor.d (enforce)');
      else
        expect(status).toMatchObject({
          phase: 'Failed',
          reason: 'AppArmor',
          message: 'Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host',
        });
    });

    test('SELinux labels and what is hidden of /proc reach the runtime', async () => {
      const seLinuxOptions = { user: 'u', role: 'r', type: 't', level: 's0:c1,c2' };
      const [hidden] = await Promise.all([
        says('hides', shell('wc -c < /proc/keys; { echo x > /proc/sys/kernel/domainname; } 2>&1; true')),
        node.create(onePod('labelled', { ...stays, securityContext: { seLinuxOptions } })),
      ]);
      expect(hidden).toMatch(/^0\n.*: Read-only file system$/);
      await node.until('labelled', isReady);
      const { linux } = await node.configOf('labelled');
      expect(linux?.security_context).toMatchObject({
        selinux_options: seLinuxOptions,
        masked_paths: expect.arrayContaining(['/proc/kcore']) as unknown,
        readonly_paths: expect.arrayContaining(['/proc/sys']) as unknown,
      });
    });

    test('nothing of /proc is hidden from a pod with users of its own that asks so', async () => {
      const { status } = JSON.parse(await node.agent.ok(['get', 'node', 'e2e', '-o', 'json'])) as Node;
      const able =
        status?.runtimeHandlers?.find(({ name = '' }) => name === '')?.features?.userNamespaces === true;
      const container = { ...stays, securityContext: { procMount: 'Unmasked' } };
      await node.create(onePod('unmasked', container, { hostUsers: false }));
      if (able) {
        await node.until('unmasked', isReady);
        expect((await node.configOf('unmasked')).linux?.security_context).not.toHaveProperty('masked_paths');
      } else
        expect((await node.told('unmasked', 'FailedCreatePodSandBox'))[0]).toContain(
          'runtime does not support user namespaces',
        );
    });

    test('groups that the image gives its user are left out where they must be, or the pod is refused', async () => {
      const inGroups = (supplementalGroupsPolicy: string): object => ({
        securityContext: {
          runAsUser: 1234,
          runAsGroup: 7,
          supplementalGroups: [9],
          supplementalGroupsPolicy,
        },
      });
      await node.create(onePod('strict-groups', shell('id -G'), { ...once, ...inGroups('Strict') }));
      expect(await says('merged-groups', shell('id -G'), inGroups('Merge'))).toBe('7 9 50000');
      const { status } = await node.until('strict-groups', hasEnded);
      const features = await node.agent.ok(['get', 'node', 'e2e', '-o', 'jsonpath={.status.features}']);
      if (features.includes('"supplementalGroupsPolicy":true'))
        expect(await logs('strict-groups')).toBe('7 9');
      else
        expect(status).toMatchObject({
          phase: 'Failed',
          reason: 'SupplementalGroupsPolicyNotSupported',
          message: 'Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node',
        });
    });

    test('huge pages, where there are some; elsewhere such a pod is refused', async () => {
      const amount = { cpu: '200m', memory: '16Mi', 'hugepages-2Mi': '4Mi' };
      await node.create(
        onePod(
          'huge',
          {
            ...shell('mount | grep "on /huge type hugetlbfs" | grep -c pagesize=2M'),
            resources: { requests: amount, limits: amount },
            volumeMounts: [{ name: 'v', mountPath: '/huge' }],
          },
          { ...once, volumes: [{ name: 'v', emptyDir: { medium: 'HugePages' } }] },
        ),
      );
      const pod = await node.until('huge', hasEnded);
      const free = await node.agent.ok([
        'get',
        'node',
        'e2e',
        '-o',
        'jsonpath={.status.allocatable.hugepages-2Mi}',
      ]);
      if (!['', '0'].includes(free)) expect(await logs('huge')).toBe('1');
      else expect([pod.status?.phase, pod.status?.reason]).toEqual(['Failed', 'OutOfhugepages-2Mi']);
    });

    test('a container that must not run as root and would is not made', async () => {
      const securityContext = { runAsNonRoot: true };
      await node.create(
        onePod('rootless', { ...stays, securityContext }),
        onePod('zero', { ...stays, securityContext: { ...securityContext, runAsUser: 0 } }),
      );
      const why = async (name: string) =>
        waiting(await node.until(name, (pod) => waiting(pod).reason === 'CreateContainerConfigError'))
          .message;
      expect(await why('rootless')).toMatch(
        /^container has runAsNonRoot and image will run as root \(pod: "rootless_default\(.*\)", container: c\)$/,
      );
      expect(await why('zero')).toMatch(
        /^container's runAsUser breaks non-root policy \(pod: "zero_default\(.*\)", container: c\)$/,
      );
    });

    test('its cgroup lies where its class says, with its limits', async () => {
      const resources = {
        requests: { cpu: '100m', memory: '32Mi' },
        limits: { cpu: '200m', memory: '64Mi' },
      };
      await node.create(onePod('limited', { ...stays, resources }));
      const { metadata } = await node.until('limited', isReady);
      const pod = `kubepods/burstable/pod${metadata?.uid ?? ''}`;
      const read = (controller: string, file: string): string =>
        readFileSync(join('/sys/fs/cgroup', controller, node.cgroup, pod, file), 'utf8').trim();
      if (!existsSync('/sys/fs/cgroup/memory')) return; // the files of version 2 have other names
      expect(read('memory', 'memory.limit_in_bytes')).toBe(String(64 * 2 ** 20));
      expect(read('cpu', 'cpu.cfs_quota_us')).toBe('20000');
      expect(read('cpu', 'cpu.shares')).toBe('102');
    });

    test('its logs lie where log collectors look', async () => {
      await says('logged', shell('echo to the log'));
      const { metadata } = await node.agent.pod('logged');
      const file = join(node.dir, 'logs', `default_logged_${metadata?.uid ?? ''}`, 'c/0.log');
      expect(readFileSync(file, 'utf8')).toMatch(/^\d{4}-.* stdout F to the log\n$/);
      expect(
        readdirSync('/var/log/containers').filter((name) => name.startsWith('logged_default_c-')),
      ).toHaveLength(1);
    });
  });
});
