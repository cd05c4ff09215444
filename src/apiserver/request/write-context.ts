import type { Empties } from '../../apimachinery/serializer/codec.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { PodFeatures } from '../../kube/validation/disabled-fields.ts';
import type { ActingControllers } from '../controllers/acting-controllers.ts';
import type { Store } from '../storage/store.ts';
import type { User } from '../authentication/users.ts';

/** What every rule may look at. */
export interface World {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly services: ServiceAddresses;
  /** For which kinds controllers run; absent: nothing is said about that. */
  readonly acting?: Pick<ActingControllers, 'warningFor'>;
  /** Features of pods that are on; absent: the defaults. */
  readonly features?: PodFeatures;
}

/** Cluster addresses and node ports that are free; refusals name the service that wants one. */
export interface ServiceAddresses {
  allocate(name: string, wanted?: string): string;
  /** @throws {StatusError} when the wanted one cannot be had */
  nodePort(name: string, wanted?: number, use?: 'traffic' | 'health'): number;
}

/** One write, on its way through the rules. */
export interface WriteContext {
  readonly world: World;
  readonly user: User;
  readonly now: number;
  readonly dryRun: boolean;
  /** Told to the client in `Warning` headers. */
  readonly warnings: string[];
  /** Adds an annotation to the request's audit event; absent where nothing is audited. */
  readonly annotate?: (key: string, value: string) => void;
  /** Lists and maps that were sent empty: Go tells them from absent ones in a few places. */
  empties?: Empties;
}
