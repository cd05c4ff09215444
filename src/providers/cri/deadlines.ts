import type { UnaryMethods } from './gen/methods.ts';

/** How long a runtime call may take unless told otherwise, ms (kubelet `--runtime-request-timeout`). */
export const defaultRequestTimeoutMs = 120_000;

type Deadline = (requestTimeoutMs: number, ownTimeoutSeconds: number) => number | undefined;

/** Calls whose deadline is not the common one; `undefined`: none. As the kubelet's CRI client has them (pkg/kubelet/cri/remote). */
const deadlines: Readonly<Partial<Record<keyof UnaryMethods, Deadline>>> = {
  // making a sandbox may include a pull of its image
  RunPodSandbox: (common) => 2 * common,
  StopContainer: (common, own) => common + own * 1000,
  ExecSync: (common, own) => (own > 0 ? common + own * 1000 : undefined),
  CheckpointContainer: (common, own) => Math.max(common, own * 1000),
  // these take as long as disks and registries need
  ListContainerStats: () => undefined,
  ImageFsInfo: () => undefined,
  PullImage: () => undefined,
};

/** Deadline of one call, ms; `undefined`: it may take for ever. */
export function deadlineOf(
  method: keyof UnaryMethods,
  request: { readonly timeout?: number },
  requestTimeoutMs: number,
): number | undefined {
  const own = deadlines[method];
  return own ? own(requestTimeoutMs, request.timeout ?? 0) : requestTimeoutMs;
}
