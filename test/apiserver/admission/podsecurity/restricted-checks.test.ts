import { describe, expect, test } from 'vitest';
import { violationsOf } from '../../../../src/apiserver/admission/podsecurity/restricted-checks.ts';

const good = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};
const container = (name: string, securityContext?: object, more: object = {}): object => ({
  name,
  image: 'x',
  ...(securityContext && { securityContext }),
  ...more,
});
const check = (
  level: 'baseline' | 'restricted',
  minor: number,
  spec: object,
  annotations: object = {},
): readonly string[] =>
  violationsOf({ level, minor }, { annotations: { ...annotations }, spec: { ...spec } }).map(
    ({ reason, detail }) => `${reason} (${detail})`,
  );
const latest = Infinity;

test('privileged allows everything, and a careful pod complies with every level', () => {
  const bold = { hostPID: true, containers: [container('a', { privileged: true })] };
  expect(violationsOf({ level: 'privileged', minor: latest }, { annotations: {}, spec: bold })).toEqual([]);
  for (const minor of [0, 19, 25, 35, latest])
    expect(check('restricted', minor, { containers: [container('a', good)] })).toEqual([]);
});

test.for<[string, object, readonly string[]]>([
  [
    'host namespaces, privileged containers and capabilities',
    {
      hostNetwork: true,
      hostPID: true,
      containers: [
        container('a', { privileged: true }),
        container('b', { privileged: true, capabilities: { add: ['SYS_ADMIN', 'CHOWN', 'NET_RAW'] } }),
      ],
    },
    [
      'non-default capabilities (container "b" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
      'host namespaces (hostNetwork=true, hostPID=true)',
      'privileged (containers "a", "b" must not set securityContext.privileged=true)',
    ],
  ],
  [
    'host paths and ports',
    {
      containers: [container('a', undefined, { ports: [{ hostPort: 80 }, { hostPort: 8080 }, {}] })],
      volumes: [
        { name: 'h', hostPath: {} },
        { name: 'e', emptyDir: {} },
      ],
    },
    ['hostPath volumes (volume "h")', 'hostPort (container "a" uses hostPorts 80, 8080)'],
  ],
  [
    'options of SELinux, seccomp and sysctls',
    {
      securityContext: {
        seLinuxOptions: { type: 'container_engine_t' },
        seccompProfile: { type: 'Unconfined' },
        sysctls: [{ name: 'net.ipv4.tcp_rmem' }, { name: 'kernel.msgmax' }],
      },
      containers: [container('b', { seLinuxOptions: { type: 'bad', user: 'u', role: 'r' } })],
    },
    [
      'seLinuxOptions (container "b" set forbidden securityContext.seLinuxOptions: type "bad"; user may not be set; role may not be set)',
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
      'forbidden sysctls (kernel.msgmax)',
    ],
  ],
  [
    'profiles of AppArmor',
    {
      securityContext: { appArmorProfile: { type: 'Unconfined' } },
      containers: [container('a', { appArmorProfile: { type: 'Unconfined' } })],
    },
    ['forbidden AppArmor profile (pod and container "a" must not set AppArmor profile type to "Unconfined")'],
  ],
  [
    'processes of a Windows host',
    { containers: [container('a', { windowsOptions: { hostProcess: true } })] },
    ['hostProcess (container "a" must not set securityContext.windowsOptions.hostProcess=true)'],
  ],
])('baseline forbids %s', ([, spec, expected]) => {
  expect(check('baseline', latest, spec)).toEqual(expected);
});

test('restricted demands settings of each container', () => {
  expect(
    check('restricted', latest, {
      initContainers: [container('i')],
      containers: [
        container('a', good),
        container('b', { capabilities: { add: ['SYS_TIME'] }, runAsUser: 0 }),
      ],
      volumes: [
        { name: 'n', nfs: {} },
        { name: 'h', hostPath: {} },
      ],
    }),
  ).toEqual([
    'allowPrivilegeEscalation != false (containers "i", "b" must set securityContext.allowPrivilegeEscalation=false)',
    'unrestricted capabilities (containers "i", "b" must set securityContext.capabilities.drop=["ALL"]; container "b" must not include "SYS_TIME" in securityContext.capabilities.add)',
    'restricted volume types (volumes "n", "h" use restricted volume types "hostPath", "nfs")',
    'runAsNonRoot != true (pod or containers "i", "b" must set securityContext.runAsNonRoot=true)',
    'runAsUser=0 (container "b" must not set runAsUser=0)',
    'seccompProfile (pod or containers "i", "b" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  ]);
});

describe('by version', () => {
  test.for<['baseline' | 'restricted', number, object, number]>([
    ['restricted', 7, { containers: [container('a', { runAsNonRoot: true })] }, 0],
    ['restricted', 8, { containers: [container('a', { runAsNonRoot: true })] }, 1],
    ['restricted', 19, { containers: [container('a', { runAsNonRoot: true })] }, 2],
    ['restricted', 22, { containers: [container('a', { runAsNonRoot: true })] }, 3],
    ['restricted', 22, { containers: [container('a', { ...good, runAsUser: 0 })] }, 0],
    ['restricted', 23, { containers: [container('a', { ...good, runAsUser: 0 })] }, 1],
    ['restricted', 24, { os: { name: 'windows' }, containers: [container('a', { runAsNonRoot: true })] }, 3],
    ['restricted', 25, { os: { name: 'windows' }, containers: [container('a', { runAsNonRoot: true })] }, 0],
    [
      'restricted',
      34,
      { hostUsers: false, containers: [container('a', { ...good, runAsNonRoot: false })] },
      1,
    ],
    [
      'restricted',
      35,
      { hostUsers: false, containers: [container('a', { ...good, runAsNonRoot: false })] },
      0,
    ],
    ['baseline', 34, { hostUsers: false, containers: [container('a', { procMount: 'Unmasked' })] }, 1],
    ['baseline', 35, { hostUsers: false, containers: [container('a', { procMount: 'Unmasked' })] }, 0],
    [
      'restricted',
      35,
      { hostUsers: false, containers: [container('a', { ...good, procMount: 'Unmasked' })] },
      1,
    ],
    ['baseline', 33, { containers: [container('a', {}, { livenessProbe: { httpGet: { host: 'h' } } })] }, 0],
    ['baseline', 34, { containers: [container('a', {}, { livenessProbe: { httpGet: { host: 'h' } } })] }, 1],
    ['baseline', 31, { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem' }] }, containers: [] }, 1],
    ['baseline', 32, { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem' }] }, containers: [] }, 0],
    ['baseline', 30, { containers: [container('a', { seLinuxOptions: { type: 'container_engine_t' } })] }, 1],
    ['baseline', 31, { containers: [container('a', { seLinuxOptions: { type: 'container_engine_t' } })] }, 0],
  ])('%s of 1.%i: %j has %i violations', ([level, minor, spec, count]) => {
    expect(check(level, minor, spec)).toHaveLength(count);
  });

  test('before 1.19 annotations name the seccomp profile', () => {
    const annotations = {
      'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
      'container.seccomp.security.alpha.kubernetes.io/a': 'localhost/x',
    };
    const spec = { containers: [container('a')] };
    expect(check('baseline', 18, spec, annotations)).toEqual([
      'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
    ]);
    expect(check('baseline', 19, spec, annotations)).toEqual([]);
  });
});
