import { whyNoContainerd } from '../../support/containerd.ts';
import { sharedBed, stopSharedBed } from './kubelet-bed.ts';
import { CasePlay } from './kubelet-case.ts';
import type { Player } from './transcript.ts';

/** Plays recordings of the kubelet's HTTP API against an agent with a real container runtime. */
export const kubeletPlayer: Player = {
  families: new Set(['kubelet-http']),
  async play(one) {
    const why = whyNoContainerd();
    if (why !== undefined) throw new Error(`cannot be played here: ${why}`);
    return new CasePlay(await sharedBed()).play(one);
  },
  close: stopSharedBed,
};
