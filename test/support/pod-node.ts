import { FakeClock } from '../../src/base/fake-clock.ts';
import {
  PodNode as ClockedNode,
  type PodNodeParts as ClockedParts,
} from '../../src/conformance/node/pod-node.ts';
import type { PodProvider } from '../../src/provider/provider.ts';

/** The context for the provider of a {@link PodNode}. */
export type PodNodeParts = ClockedParts & { readonly clock: FakeClock };

/** A node in this process for tests of pod providers, on a fake clock. */
export class PodNode extends ClockedNode {
  readonly clock: FakeClock;

  constructor(makeProvider: (parts: PodNodeParts) => PodProvider) {
    const clock = new FakeClock(Date.parse('2026-03-04T05:06:07Z'));
    super(clock, (parts) => makeProvider({ ...parts, clock }));
    this.clock = clock;
  }
}
