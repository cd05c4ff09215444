import { kinds } from '../../controller/kinds.ts';
import { nameOf, podOf, prefixOf } from '../workload/objects.ts';
import type { Job, Pod } from '../workload/types.ts';
import { countsByIndex, failureAnnotations } from './index-failures.ts';
import type { NewPod } from './job-decisions.ts';
import { trackingFinalizer } from './job-ends.ts';
import { indexAnnotation } from './job-indexes.ts';

/** The longest prefix of a generated name, characters. */
const longestPrefix = 58;

const indexVariable = {
  name: 'JOB_COMPLETION_INDEX',
  valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${indexAnnotation}']` } },
};

/** Returns a pod of a Job; of an indexed one with its index in name, label, annotation and environment. */
export function jobPod(job: Job, { index, last }: NewPod): Pod {
  const pod = podOf(job.spec?.template, job, kinds.Job);
  const finalizers = [...new Set([...(pod.metadata?.finalizers ?? []), trackingFinalizer])];
  const metadata = { ...pod.metadata, finalizers, generateName: prefixOf(job) };
  if (index === undefined) return { ...pod, metadata };
  const mark = { [indexAnnotation]: String(index) };
  const suffix = `-${index}-`;
  const annotations = { ...metadata.annotations, ...mark };
  const { spec } = pod;
  return {
    metadata: {
      ...metadata,
      generateName: `${nameOf(job).slice(0, longestPrefix - suffix.length)}${suffix}`,
      labels: { ...metadata.labels, ...mark },
      annotations: countsByIndex(job) ? { ...annotations, ...failureAnnotations(job, last) } : annotations,
    },
    ...(spec && {
      spec: {
        ...spec,
        hostname: `${nameOf(job)}-${index}`,
        containers: withIndex(spec.containers),
        ...(spec.initContainers && { initContainers: withIndex(spec.initContainers) }),
      },
    }),
  };
}

/** Returns containers with the variable of the index, unless they have one of its name. */
const withIndex = <C extends { env?: { name: string }[] }>(containers: readonly C[]): C[] =>
  containers.map((one) =>
    one.env?.some(({ name }) => name === indexVariable.name)
      ? one
      : { ...one, env: [...(one.env ?? []), indexVariable] },
  );
