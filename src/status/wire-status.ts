import { goStructJson } from '../kube/go-json.ts';

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

/** A value as Go writes it: zero values left out but where they are always written. `undefined`: not written at all. */
export function wire(value: unknown, shape: Shape): unknown {
  if (!value) return undefined;
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map((item) => wireElement(item, shape));
  if (!isJson(value)) return value;
  const written = wireObject(value, shape);
  if (shape.keepEmpty) return written;
  for (const _ in written) return written;
  return undefined;
}

/** An element of a list has its place: it is written whatever its value. */
const wireElement = (item: unknown, shape: Shape): unknown => wire(item, shape) ?? (isJson(item) ? {} : item);

function wireObject(object: Json, shape: Shape): Json {
  const written: Record<string, unknown> = { ...shape.always };
  for (const key in object) {
    const value = wireMember(object[key], key, shape);
    if (value !== undefined) written[key] = value;
  }
  return written;
}

function wireMember(value: unknown, key: string, shape: Shape): unknown {
  if (shape.pointers?.has(key)) return value ?? undefined;
  return wire(value, shape.members?.[key] ?? {});
}

/** A change of status as Go writes a map: `goJson` for what mostly is in order already and has no bare numbers as names. */
export const changeJson = (value: Json): string => goStructJson(sorted(value));

/** The value with the keys of its objects in order; what is in order already is not copied. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return sortedItems(value);
  return isJson(value) ? sortedMembers(value) : value;
}

function sortedItems(items: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let i = 0; i < items.length; i++) {
    const item = sorted(items[i]);
    if (item !== items[i]) (copy ??= [...items])[i] = item;
  }
  return copy ?? items;
}

function sortedMembers(object: Json): Json {
  let last = '';
  for (const key in object) {
    if (key < last) return sortedCopy(object);
    last = key;
  }
  let copy: Record<string, unknown> | undefined;
  for (const key in object) {
    const member = sorted(object[key]);
    if (member !== object[key]) (copy ??= { ...object })[key] = member;
  }
  return copy ?? object;
}

/** No name in a status is a bare number, which JavaScript would put first. */
function sortedCopy(object: Json): Json {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(object).sort()) copy[key] = sorted(object[key]);
  return copy;
}
