import { isMirrorPodOf } from '../../../pods/pod-manager.ts';
import { MirrorClient } from '../../../pods/mirror-client.ts';
import { ApiError } from '../../../api/client.ts';
import { messageOf } from '../../../base/errors.ts';
import { silentLogger } from '../../../base/logger.ts';
import type { Pod } from '../../../kube/types.ts';
import { check, type Mismatch, type Replay } from '../recording.ts';

interface Input {
  readonly pod: Pod;
  readonly mirror: Pod;
  readonly apiAnswer: string;
  readonly nodeError: boolean;
  readonly nodeName: string;
  readonly nodeUID: string;
  readonly fullName: string;
  readonly uid: string | null;
}

export const replay: Replay = (line) => {
  const input = line['in'] as Input;
  switch (line['fn']) {
    case 'isMirrorPodOf':
      return check(line['out'], isMirrorPodOf(input.mirror, input.pod));
    case 'createMirrorPod':
      return create(input, line['out']);
    case 'deleteMirrorPod':
      return remove(input, line['out']);
    default:
      throw new Error(`unknown function ${String(line['fn'])}`);
  }
};

/** The texts of errors: the house's own carry a code in front. */
const textOf = (reason: unknown): string => messageOf(reason).replace(/^\[[a-z_]+\] /, '');

async function create(input: Input, expected: unknown): Promise<Mismatch | undefined> {
  let created: Pod | undefined;
  const name = input.pod.metadata?.name ?? '';
  const hash = input.pod.metadata?.annotations?.['kubernetes.io/config.hash'] ?? '';
  const present: Record<string, Readonly<Record<string, string>>> = {
    sameHash: { 'kubernetes.io/config.mirror': hash },
    otherHash: { 'kubernetes.io/config.mirror': 'another' },
    noAnnotation: {},
  };
  const refusal: ApiError | undefined =
    input.apiAnswer === 'none'
      ? undefined
      : input.apiAnswer === 'otherError'
        ? new ApiError(403, { reason: 'Forbidden', message: `pods "${name}" is forbidden: nope` })
        : new ApiError(409, { reason: 'AlreadyExists', message: `pods "${name}" already exists` });
  const client = new MirrorClient({
    nodeName: input.nodeName,
    logger: silentLogger,
    getNode: async () => {
      if (input.nodeError) throw new Error('no node');
      return { metadata: { name: input.nodeName, uid: input.nodeUID } };
    },
    api: {
      create: async (_resource, object) => {
        created = object;
        if (refusal) throw refusal;
        return object;
      },
      get: async <T>() => ({ metadata: { annotations: present[input.apiAnswer] ?? {} } }) as T,
      delete: () => Promise.reject(new Error('not asked for')),
    },
  });
  let error = '';
  await client.createMirrorPod(input.pod).catch((reason: unknown) => (error = textOf(reason)));
  return check(expected, { created, error });
}

async function remove(input: Input, expected: unknown): Promise<Mismatch | undefined> {
  let request: object | undefined;
  const statuses: Record<string, ApiError | undefined> = {
    notFound: new ApiError(404, { reason: 'NotFound' }),
    conflict: new ApiError(409, { reason: 'Conflict' }),
    internalError: new ApiError(500, { reason: 'InternalError' }),
  };
  const client = new MirrorClient({
    nodeName: 'node1',
    logger: silentLogger,
    getNode: () => Promise.reject(new Error('not asked for')),
    api: {
      create: () => Promise.reject(new Error('not asked for')),
      get: () => Promise.reject(new Error('not asked for')),
      delete: async (_resource, ref, options) => {
        request = {
          ...ref,
          gracePeriodSeconds: options?.gracePeriodSeconds,
          preconditionUID: options?.preconditions?.uid,
        };
        const refusal = statuses[input.apiAnswer];
        if (refusal) throw refusal;
        return {};
      },
    },
  });
  let error = '';
  const deleted = await client
    .deleteMirrorPod(input.fullName, input.uid ?? undefined)
    .catch((reason: unknown) => {
      error = textOf(reason);
      return false;
    });
  return check(expected, { deleted, error, request });
}
