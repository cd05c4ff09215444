import type { UnaryMethods } from './gen/methods.ts';

/** Default deadline of a runtime call, ms (kubelet `--runtime-request-timeout`). */
export const defaultRequestTimeoutMs = 120_000;

type Deadline = (requestTimeoutMs: number, ownTimeoutSeconds: number) => number | undefined;

/** Calls with another deadline; `undefined`: none. As in the kubelet's CRI client (pkg/kubelet/cri/remote). */
const deadlines: Readonly<Partial<Record<keyof UnaryMethods, Deadline>>> = {
  // Creating a sandbox may include pulling its image.
  RunPodSandbox: (common) => 2 * common,
  StopContainer: (common, own) => common + own * 1000,
  ExecSync: (common, own) => (own > 0 ? common + own * 1000 : undefined),
  CheckpointContainer: (common, own) => Math.max(common, own * 1000),
  // The duration of these depends on disks and registries.
  ListContainerStats: () => undefined,
  ImageFsInfo: () => undefined,
  PullImage: () => undefined,
};

/** Returns the deadline of a call, ms; `undefined`: no limit. */
export function deadlineOf(
  method: keyof UnaryMethods,
  request: { readonly timeout?: number },
  requestTimeoutMs: number,
): number | undefined {
  const own = deadlines[method];
  return own ? own(requestTimeoutMs, request.timeout ?? 0) : requestTimeoutMs;
}
