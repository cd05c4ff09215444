import { WireReader, WireWriter } from '../../base/protobuf-wire.ts';

/** A container of a response; without device, CPU and memory managers, only its name. */
export interface ContainerResources {
  readonly name: string;
}

/** Resources of a pod. */
export interface PodResources {
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerResources[];
}

/** The pod that `Get` refers to. */
export interface GetRequest {
  readonly podName: string;
  readonly podNamespace: string;
}

/** Encodes `ListPodResourcesResponse` of `v1` and `v1alpha1`. */
export const encodeList = (pods: readonly PodResources[]): Buffer =>
  written((writer) => {
    for (const pod of pods)
      message(writer, 1, () => {
        writePod(writer, pod);
      });
  });

/** Encodes `GetPodResourcesResponse`. */
export const encodeGet = (pod: PodResources): Buffer =>
  written((writer) => {
    message(writer, 1, () => {
      writePod(writer, pod);
    });
  });

/** Encodes `AllocatableResourcesResponse` of a node without devices, exclusive CPUs or memory blocks. */
export const encodeAllocatable = (): Buffer => Buffer.alloc(0);

/** Decodes `GetPodResourcesRequest`. @throws {AgentError} `internal` when the bytes are not a message */
export function decodeGet(bytes: Uint8Array): GetRequest {
  const reader = new WireReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const fields = ['', '', ''];
  while (reader.at < reader.end) {
    const tag = reader.uint32();
    if (tag === 10 || tag === 18) fields[tag >>> 3] = reader.string();
    else reader.skip(tag & 7);
  }
  const [, podName = '', podNamespace = ''] = fields;
  return { podName, podNamespace };
}

function written(write: (writer: WireWriter) => void): Buffer {
  const writer = new WireWriter();
  write(writer);
  return writer.finish();
}

function message(writer: WireWriter, number: number, write: () => void): void {
  writer.tag(number, 2);
  writer.within(write);
}

function text(writer: WireWriter, number: number, value: string): void {
  if (value === '') return;
  writer.tag(number, 2);
  writer.string(value);
}

function writePod(writer: WireWriter, { name, namespace, containers }: PodResources): void {
  text(writer, 1, name);
  text(writer, 2, namespace);
  for (const container of containers)
    message(writer, 3, () => {
      text(writer, 1, container.name);
    });
}
