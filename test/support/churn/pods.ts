import type { Container, Pod } from '../../../src/kube/types.ts';

/** The expected final state of a pod. */
export type Outcome = 'Ready' | 'Ended' | 'Crashing';

/** The settings that all pods of one churn share. */
export interface PodSetting {
  readonly nodeName: string;
  /** A mark in the environment of every container, which identifies leftover processes. */
  readonly mark: string;
  /**
   * The directory in which pods that may run only once write a line per run under their UID; the same path inside and outside of
   * containers.
   */
  readonly ledger: string;
  /** Whether containers have their own root file system, so that host directories have to be mounted. */
  readonly isolated: boolean;
}

const sleeping = 'trap "exit 0" TERM; while :; do sleep 60 & wait $!; done';
const defiant = 'trap "" TERM; while :; do sleep 1; done';

/** Makes the spec of one kind of pod; `own` is a line that writes this run into the ledger. */
type MakeSpec = (own: string) => {
  readonly outcome: Outcome;
  readonly spec: Readonly<Record<string, unknown>>;
};

const shell = (name: string, script: string, more: object = {}): object => ({
  name,
  image: 'localhost/busybox:1',
  command: ['sh', '-c', script],
  ...more,
});
const always = (name: string): object => shell(name, sleeping);

const kinds: Readonly<Record<string, MakeSpec>> = {
  plain: () => ({ outcome: 'Ready', spec: { containers: [always('main')] } }),
  pair: () => ({ outcome: 'Ready', spec: { containers: [always('main'), always('second')] } }),
  limited: () => ({
    outcome: 'Ready',
    spec: {
      containers: [{ ...always('main'), resources: { limits: { cpu: '500m', memory: '64Mi' } } }],
    },
  }),
  init: () => ({
    outcome: 'Ready',
    spec: {
      initContainers: [shell('first', 'sleep 0.2'), shell('then', 'true')],
      containers: [always('main')],
    },
  }),
  sidecar: () => ({
    outcome: 'Ready',
    spec: {
      initContainers: [{ ...always('side'), restartPolicy: 'Always' }, shell('init', 'true')],
      containers: [always('main')],
    },
  }),
  volumes: () => ({
    outcome: 'Ready',
    spec: {
      containers: [{ ...always('main'), volumeMounts: [{ name: 'memory', mountPath: '/memory' }] }],
      volumes: [
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'about', downwardAPI: { items: [{ path: 'n', fieldRef: { fieldPath: 'metadata.name' } }] } },
      ],
    },
  }),
  probed: () => ({
    outcome: 'Ready',
    spec: {
      containers: [{ ...always('main'), readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } }],
    },
  }),
  patient: () => ({
    outcome: 'Ready',
    spec: {
      containers: [
        { ...always('main'), lifecycle: { preStop: { exec: { command: ['sh', '-c', 'sleep 0.5'] } } } },
      ],
    },
  }),
  defiant: () => ({ outcome: 'Ready', spec: { containers: [shell('main', defiant)] } }),
  crashing: () => ({ outcome: 'Crashing', spec: { containers: [shell('main', 'sleep 0.3; exit 1')] } }),
  done: (own) => ({
    outcome: 'Ended',
    spec: { restartPolicy: 'Never', containers: [shell('main', `${own}; sleep 0.5`)] },
  }),
  failed: (own) => ({
    outcome: 'Ended',
    spec: { restartPolicy: 'Never', containers: [shell('main', `${own}; exit 3`)] },
  }),
  retried: (own) => ({
    outcome: 'Ended',
    spec: {
      restartPolicy: 'OnFailure',
      // the first run fails, the second ends well
      containers: [shell('main', `${own}; [ "$(wc -l < "$LEDGER")" -gt 1 ]`)],
    },
  }),
};

export const kindNames: readonly string[] = Object.keys(kinds);

/** The kinds whose containers must never be started twice, in any run of the agent. */
export const onceOnly: ReadonlySet<string> = new Set(['done', 'failed']);

const kindLabel = 'churn/kind';

export const kindOf = (pod: Pod): string => pod.metadata?.labels?.[kindLabel] ?? '';

/** A pod of a kind; graceful deletion takes a second at most. */
export function podOf(name: string, kind: string, setting: PodSetting): Pod {
  const { spec } = specOf(kind, setting);
  const { restartPolicy = 'Always', initContainers, containers, volumes = [] } = spec;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { [kindLabel]: kind } },
    spec: {
      nodeName: setting.nodeName,
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy,
      ...(initContainers && { initContainers: initContainers.map((one) => finished(one, name, setting)) }),
      containers: containers.map((one) => finished(one, name, setting)),
      volumes: [
        ...volumes,
        ...(setting.isolated ? [{ name: 'ledger', hostPath: { path: setting.ledger } }] : []),
      ],
    },
  };
}

/** The expected final state of a pod of this kind. */
export const outcomeOf = (kind: string): Outcome => kinds[kind]?.('true').outcome ?? 'Ready';

interface Spec {
  readonly restartPolicy?: string;
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly { readonly name: string }[];
}

function specOf(kind: string, { ledger }: PodSetting): { spec: Spec } {
  const make = kinds[kind];
  if (!make) throw new Error(`there is no kind of pod ${kind}`);
  const { spec } = make(`LEDGER=${ledger}/$POD_UID; echo run >> "$LEDGER"`);
  return { spec: spec as unknown as Spec };
}

function finished(container: Container, name: string, { mark, ledger, isolated }: PodSetting): Container {
  const mounts = isolated ? [{ name: 'ledger', mountPath: ledger }] : [];
  const own = isolated ? (container.volumeMounts ?? []) : [];
  return {
    ...container,
    env: [
      { name: 'E2E', value: mark },
      { name: 'POD', value: name },
      { name: 'CONTAINER', value: container.name },
      { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
    ],
    volumeMounts: [...own, ...mounts],
  };
}
