import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { noKubectl } from '../../e2e/kubectl.ts';
import { skipWithoutContainerd } from '../../support/containerd.ts';
import { apiServerPlayer } from './api-server.ts';
import { apiServerToKubeletPlayer } from './apiserver-to-kubelet.ts';
import { kubectlPlayer } from './kubectl.ts';
import { kubeletNodePlayer } from './kubelet-node.ts';
import { kubeletPlayer } from './kubelet.ts';
import { type Player, readCases, transcriptFiles } from './transcript.ts';

const dir = process.env['GOLDEN_DIR'];

/** What docs/fidelity.md tells of: Go's profiles, documents of kinds that are not served, and the day on which they were written. */
const differs: ReadonlySet<string> = new Set(['discovery']);

if (dir === undefined || dir === '') {
  test.skip('recorded requests: GOLDEN_DIR is not set, so there is nothing to play');
} else {
  const files = await transcriptFiles(join(dir, 'transcripts'));
  const playAll = async (player: Player, family: string): Promise<void> => {
    for await (const one of readCases(files.get(family) ?? ''))
      if (player.plays?.(one) !== false) expect(await player.play(one), one.id).toEqual([]);
  };
  const exact = [...apiServerPlayer.families].filter((family) => files.has(family) && !differs.has(family));
  test.for(exact)('%s is answered as kube-apiserver answers', { timeout: 120_000 }, (family) =>
    playAll(apiServerPlayer, family),
  );

  test.runIf(files.has('kubelet-node'))('what a node says of itself is what the kubelet says', () =>
    playAll(kubeletNodePlayer, 'kubelet-node'),
  );

  describe.skipIf(skipWithoutContainerd())('with a real runtime', { timeout: 300_000 }, () => {
    const players = [
      apiServerToKubeletPlayer,
      kubeletPlayer,
      ...(noKubectl === undefined ? [kubectlPlayer] : []),
    ];
    afterAll(async () => {
      for (const player of players) await player.close();
    }, 60_000);
    const played = players.flatMap((player) => [...player.families].map((family) => ({ player, family })));
    test.for(played.filter(({ family }) => files.has(family)))(
      '$family is played as recorded',
      ({ player, family }) => playAll(player, family),
    );
  });
}
