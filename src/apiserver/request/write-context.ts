import type { JsonObject } from '../../apimachinery/json.ts';
import type { Empties } from '../../apimachinery/serializer/codec.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { PodFeatures } from '../../kube/validation/disabled-fields.ts';
import type { AuditLevel } from './audit-record.ts';
import type { ActingControllers } from './acting-controllers.ts';
import type { Store } from '../storage/store.ts';
import type { User } from '../authentication/users.ts';

/** World is what every rule may use. */
export interface World {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly services: ServiceAddresses;
  /** The kinds with running controllers; absent: no warnings about them. */
  readonly acting?: Pick<ActingControllers, 'actsOn' | 'warningFor'>;
  /** Enabled pod features; absent: the defaults. */
  readonly features?: PodFeatures;
}

/** Allocator of cluster addresses and node ports; errors name the service. */
export interface ServiceAddresses {
  /** The address of the API server's own service. */
  readonly first: string;
  /** The range of cluster addresses, as a CIDR. */
  readonly range: string;
  allocate(name: string, requested?: string): string;
  /** Called with each service before it is stored, for the objects that stand for its addresses; absent: there are none. */
  claim?: ((service: JsonObject) => void) | undefined;
  /** @throws {StatusError} when the requested one is not available */
  nodePort(name: string, requested?: number, use?: 'traffic' | 'health'): number;
}

/** The context of one write. */
export interface WriteContext {
  readonly world: World;
  readonly user: User;
  readonly now: number;
  readonly dryRun: boolean;
  /** Sent to the client in `Warning` headers. */
  readonly warnings: string[];
  /** Adds an annotation to the request's audit event, or only to one of at least a level; absent without auditing. */
  readonly annotate?: (key: string, value: string, least?: AuditLevel) => void;
  /** Lists and maps that were sent empty: Go distinguishes them from absent ones in a few places. */
  empties?: Empties;
  /** Whether the object that was sent names another kind, as that of a status may: then its fields have no owners. */
  isOtherKind?: boolean;
}
