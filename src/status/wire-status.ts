import { ownMember, setOwn } from '../base/own.ts';
import { hasMembers } from '../base/members-of.ts';

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** How a member of an API object is written. */
export interface Shape {
  /** Members that are always written, with what stands for their zero value. */
  readonly always?: Json;
  /** Members that are objects or lists of objects. */
  readonly members?: Readonly<Record<string, Shape>>;
  /** Scalars of which zero is a value. */
  readonly pointers?: ReadonlySet<string>;
  /** Written even when empty, as Go does with structs and with what it points to; what has members that are always written is never empty. */
  readonly keepEmpty?: boolean;
  /** The member that tells the elements of a list apart, so that a patch can speak of one. */
  readonly mergeKey?: string;
}

const containerState: Shape = {
  members: {
    waiting: { keepEmpty: true },
    running: { always: { startedAt: null } },
    terminated: { always: { exitCode: 0, startedAt: null, finishedAt: null } },
  },
};

const resources: Shape = { keepEmpty: true };

const containerStatus: Shape = {
  always: {
    name: '',
    state: {},
    lastState: {},
    ready: false,
    restartCount: 0,
    image: '',
    imageID: '',
  },
  pointers: new Set(['started', 'stopSignal']),
  members: {
    state: containerState,
    lastState: containerState,
    resources,
    volumeMounts: { pointers: new Set(['recursiveReadOnly']) },
    user: { keepEmpty: true, members: { linux: { always: { uid: 0, gid: 0 } } } },
  },
};

const ip: Shape = { mergeKey: 'ip', always: { ip: '' } };

/** The members of a pod status that a patch may touch; what a newer server adds stays untouched. */
export const statusShape: Required<Pick<Shape, 'members'>> = {
  members: {
    observedGeneration: {},
    phase: {},
    message: {},
    reason: {},
    nominatedNodeName: {},
    hostIP: {},
    podIP: {},
    startTime: {},
    qosClass: {},
    resize: {},
    hostIPs: ip,
    podIPs: ip,
    conditions: {
      mergeKey: 'type',
      always: { type: '', status: '', lastProbeTime: null, lastTransitionTime: null },
    },
    containerStatuses: containerStatus,
    initContainerStatuses: containerStatus,
    ephemeralContainerStatuses: containerStatus,
    resourceClaimStatuses: {
      mergeKey: 'name',
      always: { name: '' },
      pointers: new Set(['resourceClaimName']),
    },
    extendedResourceClaimStatus: { keepEmpty: true },
    allocatedResources: {},
    resources,
  },
} as const satisfies Shape;

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What nothing is known of. */
export const plain: Shape = {};

/**
 * A value as Go writes it in a map: keys in order, zero values left out but where they are always written. `undefined`: not written at
 * all. No name in a status is a bare number, which JavaScript would put first.
 */
export function wire(value: unknown, shape: Shape): unknown {
  if (!value) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : wireItems(value, shape);
  if (!isJson(value)) return value;
  const written = wireObject(value, shape);
  if (shape.keepEmpty === true) return written;
  return hasMembers(written) ? written : undefined;
}

/** An element of a list has its place: it is written whatever its value. */
const wireItems = (items: readonly unknown[], shape: Shape): readonly unknown[] =>
  items.map((item) => wire(item, shape) ?? (isJson(item) ? {} : item));

/** As {@link wire}, and empty where nothing is written. */
export function wireObject(object: Json, shape: Shape): Json {
  const written: Record<string, unknown> = {};
  namesOf(object, shape).forEach((name) => {
    const member = wireMember(object, name, shape);
    if (member !== undefined) setOwn(written, name, member);
  });
  return written;
}

/** One member of an object, as {@link wire}. */
export function wireMember(object: Json, name: string, { pointers, members, always }: Shape): unknown {
  const value = ownMember(object, name);
  if (pointers?.has(name) === true) return value ?? undefined;
  return wire(value, ownMember(members, name) ?? plain) ?? ownMember(always, name);
}

/** What an object, or another one in its place, may be written with, in order. */
export function namesOf(object: Json, { always }: Shape, other: Json = none): readonly string[] {
  const names = Object.keys(object);
  for (const name in other) if (!Object.hasOwn(object, name)) names.push(name);
  for (const name in always)
    if (!(Object.hasOwn(object, name) || Object.hasOwn(other, name))) names.push(name);
  return names.sort();
}

const none: Json = {};
