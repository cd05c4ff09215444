import { conditionOf } from '../../apimachinery/conditions.ts';
import { ownMember } from '../../base/own.ts';
import {
  type JsonObject,
  nameOf,
  objectAt,
  objectsAt,
  specOf,
  statusOf,
  stringAt,
  textOf,
  valueAt,
} from '../../apimachinery/json.ts';
import { age, ageOf } from './table-printer.ts';
import {
  cols,
  containerCells,
  countAt,
  createdAgo,
  labelsText,
  printer,
  type Printer,
  type Printers,
  selectorText,
} from './table-printer.ts';

const templateOf = (object: JsonObject): JsonObject => objectAt(specOf(object), 'template');
const wideOf = (object: JsonObject, template = templateOf(object)): readonly string[] => [
  ...containerCells(template),
  selectorText(objectAt(specOf(object), 'selector')) || '<none>',
];
const replicaColumns = cols(
  'Name',
  'Desired:integer',
  'Current:integer',
  'Ready:integer',
  'Age',
  'Containers+',
  'Images+',
  'Selector+',
);
const replicaCells = (object: JsonObject, now: number): readonly unknown[] => [
  nameOf(object),
  countAt(object, 'spec', 'replicas'),
  countAt(object, 'status', 'replicas'),
  countAt(object, 'status', 'readyReplicas'),
  createdAgo(object, now),
];

const isTrue = (job: JsonObject, type: string): boolean => conditionOf(job, type)?.['status'] === 'True';

function jobState(job: JsonObject): string {
  if (isTrue(job, 'Complete')) return 'Complete';
  if (isTrue(job, 'Failed')) return 'Failed';
  if (valueAt(job, 'metadata', 'deletionTimestamp') !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find((type) => isTrue(job, type)) ?? 'Running';
}

function jobCompletions(job: JsonObject): string {
  const done = countAt(job, 'status', 'succeeded');
  const completions = specOf(job)['completions'];
  if (completions !== undefined) return `${done}/${textOf(completions)}`;
  const parallel = countAt(job, 'spec', 'parallelism');
  return parallel > 1 ? `${done}/1 of ${parallel}` : `${done}/1`;
}

function jobDuration(job: JsonObject, now: number): string {
  const { startTime, completionTime } = statusOf(job);
  if (typeof startTime !== 'string') return '';
  const end = typeof completionTime === 'string' ? Date.parse(completionTime) : now;
  return age(end - Date.parse(startTime));
}

function controllerOf(object: JsonObject): string {
  const owner = objectsAt(objectAt(object, 'metadata'), 'ownerReferences').find(
    (one) => one['controller'] === true,
  );
  if (!owner) return '<none>';
  const [group] = stringAt(owner, 'apiVersion').includes('/') ? stringAt(owner, 'apiVersion').split('/') : [];
  const kind = stringAt(owner, 'kind').toLowerCase();
  return `${group ? `${kind}.${group.toLowerCase()}` : kind}/${stringAt(owner, 'name')}`;
}

/** Formats current and target value of one metric, like `kubectl get hpa`. */
function metricText(spec: JsonObject, status: JsonObject | undefined): string {
  const type = stringAt(spec, 'type');
  const key = type.charAt(0).toLowerCase() + type.slice(1);
  if (!['External', 'Pods', 'Object', 'Resource', 'ContainerResource'].includes(type))
    return '<unknown type>';
  const source = objectAt(spec, key);
  const [target, current] = [objectAt(source, 'target'), objectAt(objectAt(status, key), 'current')];
  const now = (member: string, unit = ''): string =>
    ownMember(current, member) === undefined ? '<unknown>' : `${textOf(ownMember(current, member))}${unit}`;
  const average = target['averageValue'];
  if (type === 'Pods') return `${now('averageValue')}/${textOf(average)}`;
  if (type === 'External' || type === 'Object')
    return average === undefined
      ? `${now('value')}/${textOf(target['value'])}`
      : `${now('averageValue')}/${textOf(average)} (avg)`;
  const use = target['averageUtilization'];
  const values =
    average === undefined
      ? `${now('averageUtilization', '%')}/${use === undefined ? '<auto>' : `${textOf(use)}%`}`
      : `${now('averageValue')}/${textOf(average)}`;
  return `${stringAt(source, 'name')}: ${values}`;
}

function metricsText(scaler: JsonObject): string {
  const states = objectsAt(statusOf(scaler), 'currentMetrics');
  const all = objectsAt(specOf(scaler), 'metrics').map((spec, i) => metricText(spec, states[i]));
  if (all.length === 0) return '<none>';
  const text = all.slice(0, 2).join(', ');
  return all.length > 2 ? `${text} + ${all.length - 2} more...` : text;
}

const bound = (value: unknown): string => (value === undefined ? 'N/A' : textOf(value));

/** Printer of autoscalers, in the form of autoscaling/v2. */
export const scalerPrinter: Printer = printer(
  cols('Name', 'Reference', 'Targets', 'MinPods', 'MaxPods', 'Replicas', 'Age'),
  (one, now) => {
    const { scaleTargetRef, minReplicas } = specOf(one);
    const target = scaleTargetRef as JsonObject | undefined;
    return [
      nameOf(one),
      `${stringAt(target, 'kind')}/${stringAt(target, 'name')}`,
      metricsText(one),
      minReplicas === undefined ? '<unset>' : textOf(minReplicas),
      countAt(one, 'spec', 'maxReplicas'),
      countAt(one, 'status', 'currentReplicas'),
      createdAgo(one, now),
    ];
  },
);

/** Printers of workloads. Follow Kubernetes' printers (pkg/printers/internalversion, v1.36). */
export const workloadPrinters: Printers = {
  podtemplates: printer(cols('Name', 'Containers', 'Images', 'Pod Labels'), (one) => {
    const template = objectAt(one, 'template');
    const labels = objectAt(objectAt(template, 'metadata'), 'labels');
    return [nameOf(one), ...containerCells(template), labelsText(labels)];
  }),
  replicationcontrollers: printer(replicaColumns, (one, now) => [
    ...replicaCells(one, now),
    ...containerCells(templateOf(one)),
    labelsText(objectAt(specOf(one), 'selector')),
  ]),
  'apps/replicasets': printer(replicaColumns, (one, now) => [...replicaCells(one, now), ...wideOf(one)]),
  'apps/daemonsets': printer(
    [
      ...cols('Name', 'Desired:integer', 'Current:integer', 'Ready:integer', 'Up-to-date:integer'),
      ...cols('Available:integer', 'Node Selector', 'Age', 'Containers+', 'Images+', 'Selector+'),
    ],
    (one, now) => [
      nameOf(one),
      ...['desiredNumberScheduled', 'currentNumberScheduled', 'numberReady', 'updatedNumberScheduled'].map(
        (key) => countAt(one, 'status', key),
      ),
      countAt(one, 'status', 'numberAvailable'),
      labelsText(objectAt(specOf(templateOf(one)), 'nodeSelector')),
      createdAgo(one, now),
      ...wideOf(one),
    ],
  ),
  'apps/statefulsets': printer(cols('Name', 'Ready', 'Age', 'Containers+', 'Images+'), (one, now) => [
    nameOf(one),
    `${countAt(one, 'status', 'readyReplicas')}/${countAt(one, 'spec', 'replicas')}`,
    createdAgo(one, now),
    ...containerCells(templateOf(one)),
  ]),
  'apps/deployments': printer(
    cols('Name', 'Ready', 'Up-to-date', 'Available', 'Age', 'Containers+', 'Images+', 'Selector+'),
    (one, now) => [
      nameOf(one),
      `${countAt(one, 'status', 'readyReplicas')}/${countAt(one, 'spec', 'replicas')}`,
      countAt(one, 'status', 'updatedReplicas'),
      countAt(one, 'status', 'availableReplicas'),
      createdAgo(one, now),
      ...containerCells(templateOf(one)),
      selectorText(objectAt(specOf(one), 'selector')),
    ],
  ),
  'apps/controllerrevisions': printer(cols('Name', 'Controller', 'Revision', 'Age'), (one, now) => [
    nameOf(one),
    controllerOf(one),
    countAt(one, 'revision'),
    createdAgo(one, now),
  ]),
  'batch/jobs': printer(
    cols('Name', 'Status', 'Completions', 'Duration', 'Age', 'Containers+', 'Images+', 'Selector+'),
    (job, now) => [
      nameOf(job),
      jobState(job),
      jobCompletions(job),
      jobDuration(job, now),
      createdAgo(job, now),
      ...wideOf(job),
    ],
  ),
  'batch/cronjobs': printer(
    [
      ...cols('Name', 'Schedule', 'Timezone', 'Suspend:boolean', 'Active:integer', 'Last Schedule', 'Age'),
      ...cols('Containers+', 'Images+', 'Selector+'),
    ],
    (one, now) => {
      const { schedule, timeZone, suspend, jobTemplate } = specOf(one);
      const last = statusOf(one)['lastScheduleTime'];
      return [
        nameOf(one),
        textOf(schedule),
        timeZone === undefined ? '<none>' : textOf(timeZone),
        suspend === undefined ? '<unset>' : suspend === true ? 'True' : 'False',
        objectsAt(statusOf(one), 'active').length,
        last === undefined ? '<none>' : ageOf(last, now),
        createdAgo(one, now),
        ...wideOf(jobTemplate as JsonObject),
      ];
    },
  ),
  'policy/poddisruptionbudgets': printer(
    cols('Name', 'Min Available', 'Max Unavailable', 'Allowed Disruptions:integer', 'Age'),
    (one, now) => [
      nameOf(one),
      bound(specOf(one)['minAvailable']),
      bound(specOf(one)['maxUnavailable']),
      countAt(one, 'status', 'disruptionsAllowed'),
      createdAgo(one, now),
    ],
  ),
  'autoscaling/horizontalpodautoscalers': scalerPrinter,
};
