// Made by scripts/generate-cri.mjs from cri.proto.
import type {
  AttachRequest,
  AttachResponse,
  CheckpointContainerRequest,
  CheckpointContainerResponse,
  ContainerEventResponse,
  ContainerStatsRequest,
  ContainerStatsResponse,
  ContainerStatusRequest,
  ContainerStatusResponse,
  CreateContainerRequest,
  CreateContainerResponse,
  ExecRequest,
  ExecResponse,
  ExecSyncRequest,
  ExecSyncResponse,
  GetEventsRequest,
  ImageFsInfoRequest,
  ImageFsInfoResponse,
  ImageStatusRequest,
  ImageStatusResponse,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
  ListContainersRequest,
  ListContainersResponse,
  ListImagesRequest,
  ListImagesResponse,
  ListMetricDescriptorsRequest,
  ListMetricDescriptorsResponse,
  ListPodSandboxMetricsRequest,
  ListPodSandboxMetricsResponse,
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  PodSandboxStatsRequest,
  PodSandboxStatsResponse,
  PodSandboxStatusRequest,
  PodSandboxStatusResponse,
  PortForwardRequest,
  PortForwardResponse,
  PullImageRequest,
  PullImageResponse,
  RemoveContainerRequest,
  RemoveContainerResponse,
  RemoveImageRequest,
  RemoveImageResponse,
  RemovePodSandboxRequest,
  RemovePodSandboxResponse,
  ReopenContainerLogRequest,
  ReopenContainerLogResponse,
  RunPodSandboxRequest,
  RunPodSandboxResponse,
  RuntimeConfigRequest,
  RuntimeConfigResponse,
  StartContainerRequest,
  StartContainerResponse,
  StatusRequest,
  StatusResponse,
  StopContainerRequest,
  StopContainerResponse,
  StopPodSandboxRequest,
  StopPodSandboxResponse,
  StreamContainerStatsRequest,
  StreamContainerStatsResponse,
  StreamContainersRequest,
  StreamContainersResponse,
  StreamImagesRequest,
  StreamImagesResponse,
  StreamPodSandboxMetricsRequest,
  StreamPodSandboxMetricsResponse,
  StreamPodSandboxStatsRequest,
  StreamPodSandboxStatsResponse,
  StreamPodSandboxesRequest,
  StreamPodSandboxesResponse,
  UpdateContainerResourcesRequest,
  UpdateContainerResourcesResponse,
  UpdatePodSandboxResourcesRequest,
  UpdatePodSandboxResourcesResponse,
  UpdateRuntimeConfigRequest,
  UpdateRuntimeConfigResponse,
  VersionRequest,
  VersionResponse,
} from '../../../provider/cri-messages.ts';
import type { MessageName } from './messages.ts';

/** Calls with one answer. */
export interface UnaryMethods {
  Version: { request: VersionRequest; response: VersionResponse };
  RunPodSandbox: { request: RunPodSandboxRequest; response: RunPodSandboxResponse };
  StopPodSandbox: { request: StopPodSandboxRequest; response: StopPodSandboxResponse };
  RemovePodSandbox: { request: RemovePodSandboxRequest; response: RemovePodSandboxResponse };
  PodSandboxStatus: { request: PodSandboxStatusRequest; response: PodSandboxStatusResponse };
  ListPodSandbox: { request: ListPodSandboxRequest; response: ListPodSandboxResponse };
  CreateContainer: { request: CreateContainerRequest; response: CreateContainerResponse };
  StartContainer: { request: StartContainerRequest; response: StartContainerResponse };
  StopContainer: { request: StopContainerRequest; response: StopContainerResponse };
  RemoveContainer: { request: RemoveContainerRequest; response: RemoveContainerResponse };
  ListContainers: { request: ListContainersRequest; response: ListContainersResponse };
  ContainerStatus: { request: ContainerStatusRequest; response: ContainerStatusResponse };
  UpdateContainerResources: { request: UpdateContainerResourcesRequest; response: UpdateContainerResourcesResponse };
  ReopenContainerLog: { request: ReopenContainerLogRequest; response: ReopenContainerLogResponse };
  ExecSync: { request: ExecSyncRequest; response: ExecSyncResponse };
  Exec: { request: ExecRequest; response: ExecResponse };
  Attach: { request: AttachRequest; response: AttachResponse };
  PortForward: { request: PortForwardRequest; response: PortForwardResponse };
  ContainerStats: { request: ContainerStatsRequest; response: ContainerStatsResponse };
  ListContainerStats: { request: ListContainerStatsRequest; response: ListContainerStatsResponse };
  PodSandboxStats: { request: PodSandboxStatsRequest; response: PodSandboxStatsResponse };
  ListPodSandboxStats: { request: ListPodSandboxStatsRequest; response: ListPodSandboxStatsResponse };
  UpdateRuntimeConfig: { request: UpdateRuntimeConfigRequest; response: UpdateRuntimeConfigResponse };
  Status: { request: StatusRequest; response: StatusResponse };
  CheckpointContainer: { request: CheckpointContainerRequest; response: CheckpointContainerResponse };
  ListMetricDescriptors: { request: ListMetricDescriptorsRequest; response: ListMetricDescriptorsResponse };
  ListPodSandboxMetrics: { request: ListPodSandboxMetricsRequest; response: ListPodSandboxMetricsResponse };
  RuntimeConfig: { request: RuntimeConfigRequest; response: RuntimeConfigResponse };
  UpdatePodSandboxResources: { request: UpdatePodSandboxResourcesRequest; response: UpdatePodSandboxResourcesResponse };
  ListImages: { request: ListImagesRequest; response: ListImagesResponse };
  ImageStatus: { request: ImageStatusRequest; response: ImageStatusResponse };
  PullImage: { request: PullImageRequest; response: PullImageResponse };
  RemoveImage: { request: RemoveImageRequest; response: RemoveImageResponse };
  ImageFsInfo: { request: ImageFsInfoRequest; response: ImageFsInfoResponse };
}

/** Calls whose answers come one by one. */
export interface StreamMethods {
  StreamPodSandboxes: { request: StreamPodSandboxesRequest; response: StreamPodSandboxesResponse };
  StreamContainers: { request: StreamContainersRequest; response: StreamContainersResponse };
  StreamContainerStats: { request: StreamContainerStatsRequest; response: StreamContainerStatsResponse };
  StreamPodSandboxStats: { request: StreamPodSandboxStatsRequest; response: StreamPodSandboxStatsResponse };
  GetContainerEvents: { request: GetEventsRequest; response: ContainerEventResponse };
  StreamPodSandboxMetrics: { request: StreamPodSandboxMetricsRequest; response: StreamPodSandboxMetricsResponse };
  StreamImages: { request: StreamImagesRequest; response: StreamImagesResponse };
}

export interface MethodRow {
  readonly path: string;
  readonly request: MessageName;
  readonly response: MessageName;
}

export const unaryMethods: Readonly<Record<keyof UnaryMethods, MethodRow>> = {
  Version: { path: '/runtime.v1.RuntimeService/Version', request: 'VersionRequest', response: 'VersionResponse' },
  RunPodSandbox: { path: '/runtime.v1.RuntimeService/RunPodSandbox', request: 'RunPodSandboxRequest', response: 'RunPodSandboxResponse' },
  StopPodSandbox: { path: '/runtime.v1.RuntimeService/StopPodSandbox', request: 'StopPodSandboxRequest', response: 'StopPodSandboxResponse' },
  RemovePodSandbox: { path: '/runtime.v1.RuntimeService/RemovePodSandbox', request: 'RemovePodSandboxRequest', response: 'RemovePodSandboxResponse' },
  PodSandboxStatus: { path: '/runtime.v1.RuntimeService/PodSandboxStatus', request: 'PodSandboxStatusRequest', response: 'PodSandboxStatusResponse' },
  ListPodSandbox: { path: '/runtime.v1.RuntimeService/ListPodSandbox', request: 'ListPodSandboxRequest', response: 'ListPodSandboxResponse' },
  CreateContainer: { path: '/runtime.v1.RuntimeService/CreateContainer', request: 'CreateContainerRequest', response: 'CreateContainerResponse' },
  StartContainer: { path: '/runtime.v1.RuntimeService/StartContainer', request: 'StartContainerRequest', response: 'StartContainerResponse' },
  StopContainer: { path: '/runtime.v1.RuntimeService/StopContainer', request: 'StopContainerRequest', response: 'StopContainerResponse' },
  RemoveContainer: { path: '/runtime.v1.RuntimeService/RemoveContainer', request: 'RemoveContainerRequest', response: 'RemoveContainerResponse' },
  ListContainers: { path: '/runtime.v1.RuntimeService/ListContainers', request: 'ListContainersRequest', response: 'ListContainersResponse' },
  ContainerStatus: { path: '/runtime.v1.RuntimeService/ContainerStatus', request: 'ContainerStatusRequest', response: 'ContainerStatusResponse' },
  UpdateContainerResources: { path: '/runtime.v1.RuntimeService/UpdateContainerResources', request: 'UpdateContainerResourcesRequest', response: 'UpdateContainerResourcesResponse' },
  ReopenContainerLog: { path: '/runtime.v1.RuntimeService/ReopenContainerLog', request: 'ReopenContainerLogRequest', response: 'ReopenContainerLogResponse' },
  ExecSync: { path: '/runtime.v1.RuntimeService/ExecSync', request: 'ExecSyncRequest', response: 'ExecSyncResponse' },
  Exec: { path: '/runtime.v1.RuntimeService/Exec', request: 'ExecRequest', response: 'ExecResponse' },
  Attach: { path: '/runtime.v1.RuntimeService/Attach', request: 'AttachRequest', response: 'AttachResponse' },
  PortForward: { path: '/runtime.v1.RuntimeService/PortForward', request: 'PortForwardRequest', response: 'PortForwardResponse' },
  ContainerStats: { path: '/runtime.v1.RuntimeService/ContainerStats', request: 'ContainerStatsRequest', response: 'ContainerStatsResponse' },
  ListContainerStats: { path: '/runtime.v1.RuntimeService/ListContainerStats', request: 'ListContainerStatsRequest', response: 'ListContainerStatsResponse' },
  PodSandboxStats: { path: '/runtime.v1.RuntimeService/PodSandboxStats', request: 'PodSandboxStatsRequest', response: 'PodSandboxStatsResponse' },
  ListPodSandboxStats: { path: '/runtime.v1.RuntimeService/ListPodSandboxStats', request: 'ListPodSandboxStatsRequest', response: 'ListPodSandboxStatsResponse' },
  UpdateRuntimeConfig: { path: '/runtime.v1.RuntimeService/UpdateRuntimeConfig', request: 'UpdateRuntimeConfigRequest', response: 'UpdateRuntimeConfigResponse' },
  Status: { path: '/runtime.v1.RuntimeService/Status', request: 'StatusRequest', response: 'StatusResponse' },
  CheckpointContainer: { path: '/runtime.v1.RuntimeService/CheckpointContainer', request: 'CheckpointContainerRequest', response: 'CheckpointContainerResponse' },
  ListMetricDescriptors: { path: '/runtime.v1.RuntimeService/ListMetricDescriptors', request: 'ListMetricDescriptorsRequest', response: 'ListMetricDescriptorsResponse' },
  ListPodSandboxMetrics: { path: '/runtime.v1.RuntimeService/ListPodSandboxMetrics', request: 'ListPodSandboxMetricsRequest', response: 'ListPodSandboxMetricsResponse' },
  RuntimeConfig: { path: '/runtime.v1.RuntimeService/RuntimeConfig', request: 'RuntimeConfigRequest', response: 'RuntimeConfigResponse' },
  UpdatePodSandboxResources: { path: '/runtime.v1.RuntimeService/UpdatePodSandboxResources', request: 'UpdatePodSandboxResourcesRequest', response: 'UpdatePodSandboxResourcesResponse' },
  ListImages: { path: '/runtime.v1.ImageService/ListImages', request: 'ListImagesRequest', response: 'ListImagesResponse' },
  ImageStatus: { path: '/runtime.v1.ImageService/ImageStatus', request: 'ImageStatusRequest', response: 'ImageStatusResponse' },
  PullImage: { path: '/runtime.v1.ImageService/PullImage', request: 'PullImageRequest', response: 'PullImageResponse' },
  RemoveImage: { path: '/runtime.v1.ImageService/RemoveImage', request: 'RemoveImageRequest', response: 'RemoveImageResponse' },
  ImageFsInfo: { path: '/runtime.v1.ImageService/ImageFsInfo', request: 'ImageFsInfoRequest', response: 'ImageFsInfoResponse' },
};

export const streamMethods: Readonly<Record<keyof StreamMethods, MethodRow>> = {
  StreamPodSandboxes: { path: '/runtime.v1.RuntimeService/StreamPodSandboxes', request: 'StreamPodSandboxesRequest', response: 'StreamPodSandboxesResponse' },
  StreamContainers: { path: '/runtime.v1.RuntimeService/StreamContainers', request: 'StreamContainersRequest', response: 'StreamContainersResponse' },
  StreamContainerStats: { path: '/runtime.v1.RuntimeService/StreamContainerStats', request: 'StreamContainerStatsRequest', response: 'StreamContainerStatsResponse' },
  StreamPodSandboxStats: { path: '/runtime.v1.RuntimeService/StreamPodSandboxStats', request: 'StreamPodSandboxStatsRequest', response: 'StreamPodSandboxStatsResponse' },
  GetContainerEvents: { path: '/runtime.v1.RuntimeService/GetContainerEvents', request: 'GetEventsRequest', response: 'ContainerEventResponse' },
  StreamPodSandboxMetrics: { path: '/runtime.v1.RuntimeService/StreamPodSandboxMetrics', request: 'StreamPodSandboxMetricsRequest', response: 'StreamPodSandboxMetricsResponse' },
  StreamImages: { path: '/runtime.v1.ImageService/StreamImages', request: 'StreamImagesRequest', response: 'StreamImagesResponse' },
};
