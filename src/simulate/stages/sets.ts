import { AgentError } from '../../base/errors.ts';

/** The stage sets that come with podtender. */
export const stageSetNames = ['fast', 'general', 'chaos', 'heartbeat'] as const;

export type StageSetName = (typeof stageSetNames)[number];

const stage = (name: string, spec: string): string =>
  `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: { name: ${name} }
spec:
${spec.replace(/^/gm, '  ')}
`;

const pods = 'resourceRef: { apiGroup: v1, kind: Pod }';
const nodes = 'resourceRef: { apiGroup: v1, kind: Node }';
const alive = '- { key: .metadata.deletionTimestamp, operator: DoesNotExist }';

const condition = (type: string, status = '"True"', more = ''): string =>
  `- { type: ${type}, status: ${status}, lastTransitionTime: {{ $now | Quote }}${more} }`;

/** The statuses of init containers as they are once all are past: sidecars run, others have succeeded. */
const pastInitContainers = `{{ with .spec.initContainers }}initContainerStatuses:
{{ range . }}- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
{{ if eq .restartPolicy "Always" }}  started: true
  state: { running: { startedAt: {{ $now | Quote }} } }
{{ else }}  started: false
  state: { terminated: { exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }} } }
{{ end }}{{ end }}{{ end }}`;

const containers = (ready: boolean, state: string): string => `containerStatuses:
{{ range .spec.containers }}- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: ${ready}
  started: ${ready}
  restartCount: 0
  state: ${state}
{{ end }}`;

const running = containers(true, '{ running: { startedAt: {{ $now | Quote }} } }');

const addresses = `hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIP | Quote }}
podIPs: [{ ip: {{ PodIP | Quote }} }]`;

const template = (body: string): string => `next:
  statusTemplate: |
${`{{ $now := Now }}\n${body}`.replace(/^(?=.)/gm, '    ')}`;

const fromJob = '- { key: ".metadata.ownerReferences[].kind", operator: In, values: [Job] }';

const complete = (delay: string): string =>
  stage(
    'pod-complete',
    `${pods}
selector:
  matchExpressions:
  ${alive}
  - { key: .status.phase, operator: In, values: [Running] }
  ${fromJob}
weight: 1
${delay}${template(`phase: Succeeded
conditions:
${condition('Ready', '"False"', ', reason: PodCompleted')}
${condition('ContainersReady', '"False"', ', reason: PodCompleted')}
${containers(
  false,
  '{ terminated: { exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }} } }',
)}`)}`,
  );

const remove = (delay: string): string =>
  stage(
    'pod-delete',
    `${pods}
selector:
  matchExpressions:
  - { key: .metadata.deletionTimestamp, operator: Exists }
weight: 1
${delay}next: { delete: true }`,
  );

const delay = (ms: number, jitterMs?: number): string =>
  `delay: { durationMilliseconds: ${ms}${jitterMs === undefined ? '' : `, jitterDurationMilliseconds: ${jitterMs}`} }\n`;

/** Pods are Running at once, Jobs' pods succeed at once, and deleted pods go at once. */
const fast = [
  stage(
    'pod-ready',
    `${pods}
selector:
  matchExpressions:
  ${alive}
  - { key: .status.podIP, operator: DoesNotExist }
weight: 1
${template(`phase: Running
startTime: {{ $now | Quote }}
conditions:
${condition('PodReadyToStartContainers')}
${condition('Initialized')}
${condition('Ready')}
${condition('ContainersReady')}
${pastInitContainers}
${running}
${addresses}`)}`,
  ),
  complete(''),
  remove(''),
];

/** Pods pass through what a kubelet shows: creation, each init container in turn, containers; each step takes a second or more. */
const general = [
  stage(
    'pod-create',
    `${pods}
selector:
  matchExpressions:
  ${alive}
  - { key: .status.podIP, operator: DoesNotExist }
weight: 1
${delay(1000, 5000)}${template(`phase: Pending
startTime: {{ $now | Quote }}
conditions:
${condition('PodReadyToStartContainers')}
- { type: Initialized, status: {{ if .spec.initContainers }}"False"{{ else }}"True"{{ end }}, lastTransitionTime: {{ $now | Quote }} }
${condition('Ready', '"False"', ', reason: ContainersNotReady')}
${condition('ContainersReady', '"False"', ', reason: ContainersNotReady')}
{{ with .spec.initContainers }}initContainerStatuses:
{{ range . }}- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: false
  started: false
  restartCount: 0
  state: { waiting: { reason: PodInitializing } }
{{ end }}{{ end }}${containers(false, '{ waiting: { reason: {{ if $.spec.initContainers }}PodInitializing{{ else }}ContainerCreating{{ end }} } }')}
${addresses}`)}`,
  ),
  stage(
    'pod-initialize',
    `${pods}
selector:
  matchExpressions:
  ${alive}
  - { key: '.status.conditions[] | select(.type == "Initialized") | .status', operator: In, values: ["False"] }
weight: 1
${delay(1000, 3000)}${template(`{{ $past := 0 }}{{ range .status.initContainerStatuses }}{{ if or .state.terminated .state.running }}{{ $past = add $past 1 }}{{ end }}{{ end }}
conditions:
- { type: Initialized, status: {{ if lt (add $past 1) (len .spec.initContainers) }}"False"{{ else }}"True"{{ end }}, lastTransitionTime: {{ $now | Quote }} }
initContainerStatuses:
{{ range $i, $c := .spec.initContainers }}- name: {{ $c.name | Quote }}
  image: {{ $c.image | Quote }}
  imageID: ""
  restartCount: 0
{{ if gt $i $past }}  ready: false
  started: false
  state: { waiting: { reason: PodInitializing } }
{{ else if eq $c.restartPolicy "Always" }}  ready: true
  started: true
  state: { running: { startedAt: {{ $now | Quote }} } }
{{ else }}  ready: true
  started: false
  state: { terminated: { exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }} } }
{{ end }}{{ end }}`)}`,
  ),
  stage(
    'pod-ready',
    `${pods}
selector:
  matchExpressions:
  ${alive}
  - { key: .status.phase, operator: In, values: [Pending] }
  - { key: '.status.conditions[] | select(.type == "Initialized") | .status', operator: In, values: ["True"] }
weight: 1
${delay(1000, 5000)}${template(`phase: Running
conditions:
${condition('Ready')}
${condition('ContainersReady')}
${running}`)}`,
  ),
  complete(delay(1000, 5000)),
  remove(delay(1000, 5000)),
];

const chaosLabel = (name: string): string => `matchLabels: { ${name}.stage.podtender.io: "true" }`;

/** Pods and nodes with a label of a failure suffer from it. */
const chaos = [
  stage(
    'pod-container-failed',
    `${pods}
selector:
  ${chaosLabel('pod-container-failed')}
  matchExpressions:
  ${alive}
  - { key: .status.phase, operator: In, values: [Running] }
weight: 10000
${delay(1000)}${template(`phase: Failed
reason: ContainerFailed
message: the stage set chaos ended the containers
conditions:
${condition('Ready', '"False"', ', reason: PodFailed')}
${condition('ContainersReady', '"False"', ', reason: PodFailed')}
${containers(
  false,
  '{ terminated: { exitCode: 1, reason: Error, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }} } }',
)}`)}`,
  ),
  stage(
    'node-not-ready',
    `${nodes}
selector:
  ${chaosLabel('node-not-ready')}
  matchExpressions:
  - { key: '.status.conditions[] | select(.type == "Ready") | .status', operator: In, values: ["True"] }
weight: 10000
${delay(1000)}${template(`conditions:
- { type: Ready, status: "False", reason: Chaos, message: the stage set chaos, lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }} }`)}`,
  ),
];

/** Nodes report their conditions every 20 s, in addition to their leases. */
const heartbeat = [
  stage(
    'node-heartbeat',
    `${nodes}
selector:
  matchExpressions:
  - { key: '.status.conditions[] | select(.type == "Ready") | .status', operator: In, values: ["True"] }
weight: 1
${delay(20_000, 25_000)}${template(`conditions:
{{ range NodeConditions }}- { type: {{ .type }}, status: {{ .status | Quote }}, reason: {{ .reason }}, message: {{ .message | Quote }}, lastHeartbeatTime: {{ $now | Quote }} }
{{ end }}`)}
immediateNextStage: true`,
  ),
];

const sets: Readonly<Record<StageSetName, readonly string[]>> = {
  fast,
  general,
  chaos: [...chaos, ...general],
  heartbeat,
};

/** The stages for pods that the stages of the user leave where they are. */
export const fallbackStages: readonly string[] = fast;

/** Whether a text names a stage set. */
export const isStageSet = (name: string): name is StageSetName => stageSetNames.some((one) => one === name);

/** Returns the objects of a stage set, as YAML. @throws {AgentError} for another name */
export function stageSet(name: string): readonly string[] {
  if (isStageSet(name)) return sets[name];
  throw new AgentError(
    'invalid_argument',
    `there is no stage set ${name}: use ${stageSetNames.join(', ')} or a file`,
  );
}
