import { Informer } from '../../api/cache/informer.ts';
import type { ApiClient } from '../../api/client.ts';
import type { Resource } from '../../api/resources.ts';
import { isAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import type { KubeObject } from '../../kube/types.ts';
import type { PlayedKind, StagePlayer } from './player.ts';
import type { Stage } from './stage.ts';
import type { FindResource } from './stage-writer.ts';

/** Dependencies of KindPlayers. */
export interface KindPlayersDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly findResource: FindResource;
  readonly functionsOf: PlayedKind<KubeObject>['functionsOf'];
  /** Makes the player of a kind whose stages are those that the function returns. */
  readonly makePlayer: (
    kind: PlayedKind<KubeObject>,
    stages: () => readonly (readonly Stage[])[],
  ) => StagePlayer<KubeObject>;
  readonly signal: AbortSignal;
}

/** The time between two looks for a kind that the API server does not serve, ms. */
const searchMs = 10_000;

const keyOf = ({ apiVersion, kind }: Pick<Stage, 'apiVersion' | 'kind'>): string => `${apiVersion} ${kind}`;

/** KindPlayers plays the stages of kinds other than Pod and Node: each has an informer of its own, from the first stage for it on. */
export class KindPlayers {
  readonly #deps: KindPlayersDeps;
  readonly #kinds = new Set<string>();
  #stages: readonly Stage[] = [];

  constructor(deps: KindPlayersDeps) {
    this.#deps = deps;
  }

  /** Sets the stages in force. */
  set(stages: readonly Stage[]): void {
    this.#stages = stages;
    for (const stage of stages) {
      const key = keyOf(stage);
      if (this.#kinds.has(key)) continue;
      this.#kinds.add(key);
      void this.#play(stage);
    }
  }

  async #play(kind: Pick<Stage, 'apiVersion' | 'kind'>): Promise<void> {
    const { client, clock, signal, functionsOf, makePlayer } = this.#deps;
    const resource = await this.#find(kind);
    if (!resource) return;
    const key = keyOf(kind);
    const player = makePlayer({ resource, functionsOf }, () => [
      this.#stages.filter((stage) => keyOf(stage) === key),
    ]);
    const informer = new Informer<KubeObject>({ client, clock, logger: silentLogger }, resource, {
      transform: (object) => ({ ...object, apiVersion: kind.apiVersion, kind: kind.kind }),
    });
    informer.addHandler({
      added: (object) => {
        player.seen(object);
      },
      updated: (_old, object) => {
        player.seen(object);
      },
      deleted: (object) => {
        player.deleted(object);
      },
    });
    await informer.run(signal);
  }

  /** Finds the resource of a kind, as soon as the API server serves it; undefined when the simulation ended before. */
  async #find({ apiVersion, kind }: Pick<Stage, 'apiVersion' | 'kind'>): Promise<Resource | undefined> {
    const { clock, logger, signal, findResource } = this.#deps;
    while (!isAborted(signal)) {
      try {
        const resource = await findResource(apiVersion, kind);
        if (resource) return resource;
        logger.warn('stages are for a kind that the API server does not serve', { apiVersion, kind });
      } catch (reason) {
        logger.warn('the kind of stages was not found', { apiVersion, kind, err: messageOf(reason) });
      }
      await clock.sleep(searchMs, signal).catch(() => undefined);
    }
    return undefined;
  }
}
