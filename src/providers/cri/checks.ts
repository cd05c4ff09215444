import { AgentError } from '../../base/errors.ts';
import { goQuote } from '../../go/go-quote.ts';
import type { UnaryMethods } from './gen/methods.ts';

type Answers = {
  readonly [M in keyof UnaryMethods]?: (
    answer: UnaryMethods[M]['response'],
    request: UnaryMethods[M]['request'],
  ) => string | undefined;
};

/** Finds required members that a response lacks. A response without any status is left to the caller. */
const faults: Answers = {
  Version: ({ version, runtimeName, runtimeVersion, runtimeApiVersion }) =>
    version && runtimeName && runtimeVersion && runtimeApiVersion
      ? undefined
      : 'not all fields are set in VersionResponse',
  Status: ({ status }) =>
    (status?.conditions ?? []).length < 2 ? 'RuntimeReady or NetworkReady condition are not set' : undefined,
  PodSandboxStatus: ({ status }) => {
    if (!status) return undefined;
    const { id, metadata, createdAt } = status;
    if (!id) return 'status.Id is not set';
    if (!metadata) return 'status.Metadata is not set';
    if (!metadata.name || !metadata.namespace || !metadata.uid)
      return 'metadata.Name, metadata.Namespace or metadata.Uid is not in metadata';
    return createdAt ? undefined : 'status.CreatedAt is not set';
  },
  ContainerStatus: ({ status }) => {
    if (!status) return undefined;
    const { id, metadata, createdAt, image, imageRef } = status;
    if (!id) return 'status.Id is not set';
    if (!metadata) return 'status.Metadata is not set';
    if (!metadata.name) return 'metadata.Name is not in metadata';
    if (!createdAt) return 'status.CreatedAt is not set';
    if (!image?.image) return 'status.Image is not set';
    return imageRef ? undefined : 'status.ImageRef is not set';
  },
  ImageStatus: ({ image }, request) =>
    image && (!image.id || !image.size)
      ? `Id or size of image ${goQuote(request.image?.image ?? '')} is not set`
      : undefined,
  PullImage: ({ imageRef }, request) =>
    imageRef ? undefined : `imageRef of image ${goQuote(request.image?.image ?? '')} is not set`,
};

/**
 * Rejects a response that lacks required members. Follows the kubelet's CRI client (`verifyContainerStatus`, `verifySandboxStatus` and the
 * checks next to the calls).
 *
 * @throws {AgentError} `internal` with the kubelet's message
 */
export function checkAnswer(method: keyof UnaryMethods, request: object, answer: object): void {
  const faultOf = faults[method] as ((answer: object, request: object) => string | undefined) | undefined;
  const fault = faultOf?.(answer, request);
  if (fault !== undefined) throw new AgentError('internal', fault);
}
