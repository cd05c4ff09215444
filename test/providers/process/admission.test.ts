import { expect, test } from 'vitest';
import type { Pod } from '../../../src/kube/types.ts';
import { admitProcessPod } from '../../../src/providers/process/admission.ts';
import { imageTable } from '../../../src/providers/process/images.ts';

const root = { images: imageTable('/usr/bin/node'), uid: 0, gid: 0 };
const user = { ...root, uid: 1000, gid: 1000 };

type Spec = NonNullable<Pod['spec']>;
type Container = Spec['containers'][number];

function pod(container: Partial<Container>, spec: Partial<Spec> = {}, annotations = {}): Pod {
  return {
    metadata: { name: 'p', namespace: 'default', annotations },
    spec: { ...spec, containers: [{ name: 'main', image: 'any', command: ['true'], ...container }] },
  };
}

test.for<readonly [string, Pod, RegExp]>([
  [
    'no command and an unknown image',
    pod({ command: [] }),
    /container "main" has no command and image "any"/,
  ],
  [
    'a hostPort unlike the containerPort',
    pod({ ports: [{ containerPort: 80, hostPort: 8080 }] }),
    /make them equal/,
  ],
  ['a terminal', pod({ tty: true }), /tty: a terminal needs the programs script/],
  ['privileged', pod({ securityContext: { privileged: true } }), /privileged=true/],
  ['a read-only root', pod({ securityContext: { readOnlyRootFilesystem: true } }), /readOnlyRootFilesystem/],
  [
    'more capabilities',
    pod({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }),
    /none can be added \(SYS_ADMIN\)/,
  ],
  [
    'seccomp',
    pod({}, { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }),
    /spec.securityContext.seccompProfile/,
  ],
  [
    'sysctls',
    pod({}, { securityContext: { sysctls: [{ name: 'a.b', value: '1' }] } }),
    /sysctls: they would change the host \(a.b\)/,
  ],
  ['user namespaces', pod({}, { hostUsers: false }), /hostUsers=false/],
  ['host aliases', pod({}, { hostAliases: [{ ip: '10.0.0.1' }] }), /hostAliases/],
  [
    'an unknown kind of volume',
    pod({}, { volumes: [{ name: 'v', nfs: { server: 's', path: '/' } }] }),
    /no nfs; there are configMap/,
  ],
  [
    "a mount at a path that is not the host's",
    pod({ volumeMounts: [{ name: 'v', mountPath: '/data' }] }, { volumes: [{ name: 'v', emptyDir: {} }] }),
    /mount of "v" at \/data: .*podtender.io\/mounts: relative/,
  ],
  [
    'a read-only mount of what is writable',
    pod(
      { volumeMounts: [{ name: 'v', mountPath: '/d', readOnly: true }] },
      { volumes: [{ name: 'v', hostPath: { path: '/d' } }] },
    ),
    /readOnly cannot be enforced/,
  ],
])('%s is rejected', ([, asked, message]) => {
  const answer = admitProcessPod(asked, [], root);
  expect(answer).toMatchObject({ admit: false, reason: 'UnsupportedByProcessProvider' });
  expect(answer.message).toMatch(message);
});

test.for<readonly [string, Pod]>([
  ['an image that maps to a host program', pod({ image: 'docker.io/library/busybox:1.36', command: [] })],
  [
    'a user, when the agent is root',
    pod({ securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false } }),
  ],
  ["the host's namespaces", pod({}, { hostNetwork: true, hostPID: true, hostIPC: true })],
  [
    'a hostPath at its own path',
    pod(
      { volumeMounts: [{ name: 'v', mountPath: '/srv/' }] },
      { volumes: [{ name: 'v', hostPath: { path: '/srv' } }] },
    ),
  ],
  [
    'mounts that the pod looks for below its root',
    pod(
      { volumeMounts: [{ name: 'v', mountPath: '/etc/app', readOnly: true }] },
      { volumes: [{ name: 'v', configMap: { name: 'c' } }] },
      { 'podtender.io/mounts': 'relative' },
    ),
  ],
  [
    'the token that the API server mounts everywhere',
    pod(
      {
        volumeMounts: [
          {
            name: 'kube-api-access-x',
            mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
            readOnly: true,
          },
        ],
      },
      { volumes: [{ name: 'kube-api-access-x', projected: {} }] },
    ),
  ],
])('%s is admitted', ([, asked]) => {
  expect(admitProcessPod(asked, [], root)).toEqual({ admit: true });
});

test('another user needs root', () => {
  const asked = pod({ securityContext: { runAsUser: 7 } });
  expect(admitProcessPod(asked, [], user).message).toContain('runAsUser=7: the agent runs as 1000');
  expect(admitProcessPod(pod({ securityContext: { runAsUser: 1000 } }), [], user).admit).toBe(true);
});

test('limits are admitted with a warning', () => {
  const asked = pod({ resources: { limits: { cpu: '1', memory: '1Gi' } } });
  expect(admitProcessPod(asked, [], root)).toEqual({
    admit: true,
    warnings: ['container "main": limits on cpu, memory are not enforced by the process provider'],
  });
});

test('a port that another pod declares is taken, unless the protocols differ', () => {
  const web = pod({ ports: [{ containerPort: 8080 }] });
  const dns = pod({ ports: [{ containerPort: 8080, protocol: 'UDP' }] });
  expect(admitProcessPod(web, [dns], root).admit).toBe(true);
  expect(admitProcessPod(web, [dns, web], root)).toMatchObject({
    admit: false,
    reason: 'NodePorts',
    message: "port TCP 8080 is declared by pod default/p already; processes share the host's ports",
  });
});

test('all faults are named at once', () => {
  const asked = pod({ tty: true, securityContext: { privileged: true } }, { hostUsers: false });
  expect(admitProcessPod(asked, [], root).message?.split('; ').length).toBeGreaterThanOrEqual(3);
});

test('a terminal is there where the host has the programs for it', () => {
  expect(admitProcessPod(pod({ tty: true }), [], { ...root, hasTerminals: true }).admit).toBe(true);
});
