import type { Container } from '../types.ts';
import { type Faults, forbidden, invalid, notFound, required, unsupported } from './field-error.ts';
import type { PodContext } from './options.ts';
import { descendingPath } from './shared.ts';

type Mount = NonNullable<Container['volumeMounts']>[number];
type Device = NonNullable<Container['volumeDevices']>[number];

/** Validates the volume mounts of a container. */
export function* validateVolumeMounts(field: string, container: Container, context: PodContext): Faults {
  const paths = new Set<string>();
  const devices = new Map(
    (container.volumeDevices ?? []).map(({ name = '', devicePath = '' }: Partial<Device>) => [
      name,
      devicePath,
    ]),
  );
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    const at = `${field}[${i}]`;
    const { name = '', mountPath = '' } = mount as Partial<Mount>;
    if (name === '') yield required(`${at}.name`);
    if (!context.volumes.has(name)) yield notFound(`${at}.name`, name);
    if (mountPath === '') yield required(`${at}.mountPath`);
    if (paths.has(mountPath)) yield invalid(`${at}.mountPath`, mountPath, 'must be unique');
    paths.add(mountPath);
    if (devices.has(name)) yield invalid(`${at}.name`, name, 'must not already exist in volumeDevices');
    if ([...devices.values()].includes(mountPath))
      yield invalid(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices');
    yield* subPaths(field, at, mount);
    yield* propagation(`${field}.mountPropagation`, mount, container);
    yield* recursiveReadOnly(`${field}.recursiveReadOnly`, mount);
  }
}

function* subPaths(field: string, at: string, { subPath = '', subPathExpr = '' }: Mount): Faults {
  if (subPath !== '') yield* descendingPath(`${field}.subPath`, subPath);
  if (subPathExpr === '') return;
  if (subPath !== '')
    yield invalid(`${at}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive');
  yield* descendingPath(`${field}.subPathExpr`, subPathExpr);
}

const propagations = ['Bidirectional', 'HostToContainer', 'None'];

function* propagation(field: string, { mountPropagation }: Mount, container: Container): Faults {
  if (mountPropagation === undefined) return;
  if (!propagations.includes(mountPropagation)) yield unsupported(field, mountPropagation, propagations);
  if (mountPropagation === 'Bidirectional' && !(container.securityContext?.privileged ?? false))
    yield forbidden(field, 'Bidirectional mount propagation is available only to privileged containers');
}

function* recursiveReadOnly(field: string, mount: Mount): Faults {
  const mode = mount.recursiveReadOnly;
  if (mode === undefined || mode === 'Disabled') return;
  if (mode !== 'Enabled' && mode !== 'IfPossible')
    return yield unsupported(field, mode, ['Disabled', 'Enabled', 'IfPossible']);
  if (!(mount.readOnly ?? false)) yield forbidden(field, 'may only be specified when readOnly is true');
  if ((mount.mountPropagation ?? 'None') !== 'None')
    yield forbidden(field, 'may only be specified when mountPropagation is None or not specified');
}

/** Validates the volume devices of a container. */
export function* validateVolumeDevices(field: string, container: Container, context: PodContext): Faults {
  const names = new Set<string>();
  const paths = new Set<string>();
  // Of several mounts of one volume, the last counts.
  const mounts = new Map(
    (container.volumeMounts ?? []).map(({ name = '', mountPath = '' }: Partial<Mount>) => [name, mountPath]),
  );
  for (const [i, device] of (container.volumeDevices ?? []).entries()) {
    const { name = '', devicePath = '' } = device as Partial<Device>;
    yield* deviceName(`${field}[${i}].name`, name, names, context);
    yield* devicePathFaults(`${field}[${i}].devicePath`, devicePath, paths);
    if (mounts.has(name))
      yield invalid(`${field}[${i}].name`, name, 'must not already exist in volumeMounts');
    if ([...mounts.values()].includes(devicePath))
      yield invalid(
        `${field}[${i}].devicePath`,
        devicePath,
        'must not already exist as a path in volumeMounts',
      );
    if (name !== '') names.add(name);
  }
}

function* deviceName(field: string, name: string, names: ReadonlySet<string>, context: PodContext): Faults {
  if (name === '') yield required(field);
  if (names.has(name)) yield invalid(field, name, 'must be unique');
  const source = context.volumes.get(name);
  if (!source) yield notFound(field, name);
  else if (!source['persistentVolumeClaim'] && !source['ephemeral'])
    yield invalid(
      field,
      name,
      'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
    );
}

function* devicePathFaults(field: string, path: string, paths: Set<string>): Faults {
  if (path === '') yield required(field);
  if (paths.has(path)) yield invalid(field, path, 'must be unique');
  if (path.split('/').includes('..')) yield invalid(field, path, "can not contain backsteps ('..')");
  else paths.add(path);
}
