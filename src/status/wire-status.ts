import { ownMember, setOwn } from '../base/own.ts';
import { hasMembers } from '../base/members-of.ts';

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;

/** How a field of an API object is serialized. */
export interface Shape {
  /** The fields that are always written, with their zero value. */
  readonly always?: Json;
  /** The fields that are objects or lists of objects. */
  readonly members?: Readonly<Record<string, Shape>>;
  /** The scalars of which zero differs from absent. */
  readonly pointers?: ReadonlySet<string>;
  /** Written even when empty, as Go does with structs and pointers. An object with fields that are always written is never empty. */
  readonly keepEmpty?: boolean;
  /** The merge key: the field that identifies the elements of a list in a patch. */
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

/** The fields of a pod status that a patch may change; fields that a newer server adds are not touched. */
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

/** The shape of a value without special rules. */
export const plain: Shape = {};

/**
 * Converts a value to the form in which Go serializes it: keys sorted, zero values omitted unless they are always written; `undefined` when
 * the whole value is omitted. No key of a status is a bare number, which JavaScript would sort first.
 */
export function wire(value: unknown, shape: Shape): unknown {
  if (!value) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : wireItems(value, shape);
  if (!isJson(value)) return value;
  const written = wireObject(value, shape);
  if (shape.keepEmpty === true) return written;
  return hasMembers(written) ? written : undefined;
}

/** Converts the elements of a list; each one is written, whatever its value. */
const wireItems = (items: readonly unknown[], shape: Shape): readonly unknown[] =>
  items.map((item) => wire(item, shape) ?? (isJson(item) ? {} : item));

/** Like {@link wire}, but returns an empty object where the value is omitted. */
export function wireObject(object: Json, shape: Shape): Json {
  const written: Record<string, unknown> = {};
  namesOf(object, shape).forEach((name) => {
    const member = wireMember(object, name, shape);
    if (member !== undefined) setOwn(written, name, member);
  });
  return written;
}

/** Converts one field of an object, like {@link wire}. */
export function wireMember(object: Json, name: string, { pointers, members, always }: Shape): unknown {
  const value = ownMember(object, name);
  if (pointers?.has(name) === true) return value ?? undefined;
  return wire(value, ownMember(members, name) ?? plain) ?? ownMember(always, name);
}

/** The names of the fields with which an object, or another version of it, may be written, sorted. */
export function namesOf(object: Json, { always }: Shape, other: Json = none): readonly string[] {
  const names = Object.keys(object);
  for (const name in other) if (!Object.hasOwn(object, name)) names.push(name);
  for (const name in always)
    if (!(Object.hasOwn(object, name) || Object.hasOwn(other, name))) names.push(name);
  return names.sort();
}

const none: Json = {};
