/* Written by python -m shoal.cuda.api from src/shoal/cuda/api; change it there. */
#include "functions.h"

EXPORT CUresult cuArray3DCreate(void) {
    return shoal_refuse("cuArray3DCreate");
}

EXPORT CUresult cuArray3DCreate_v2(void) {
    return shoal_refuse("cuArray3DCreate_v2");
}

EXPORT CUresult cuArray3DGetDescriptor(void) {
    return shoal_refuse("cuArray3DGetDescriptor");
}

EXPORT CUresult cuArray3DGetDescriptor_v2(void) {
    return shoal_refuse("cuArray3DGetDescriptor_v2");
}

EXPORT CUresult cuArrayCreate(void) {
    return shoal_refuse("cuArrayCreate");
}

EXPORT CUresult cuArrayCreate_v2(void) {
    return shoal_refuse("cuArrayCreate_v2");
}

EXPORT CUresult cuArrayDestroy(void) {
    return shoal_refuse("cuArrayDestroy");
}

EXPORT CUresult cuArrayGetDescriptor(void) {
    return shoal_refuse("cuArrayGetDescriptor");
}

EXPORT CUresult cuArrayGetDescriptor_v2(void) {
    return shoal_refuse("cuArrayGetDescriptor_v2");
}

EXPORT CUresult cuArrayGetMemoryRequirements(void) {
    return shoal_refuse("cuArrayGetMemoryRequirements");
}

EXPORT CUresult cuArrayGetPlane(void) {
    return shoal_refuse("cuArrayGetPlane");
}

EXPORT CUresult cuArrayGetSparseProperties(void) {
    return shoal_refuse("cuArrayGetSparseProperties");
}

EXPORT CUresult cuCheckpointOperationComplete(void) {
    return shoal_refuse("cuCheckpointOperationComplete");
}

EXPORT CUresult cuCheckpointProcessCheckpoint(void) {
    return shoal_refuse("cuCheckpointProcessCheckpoint");
}

EXPORT CUresult cuCheckpointProcessGetRestoreThreadId(void) {
    return shoal_refuse("cuCheckpointProcessGetRestoreThreadId");
}

EXPORT CUresult cuCheckpointProcessGetState(void) {
    return shoal_refuse("cuCheckpointProcessGetState");
}

EXPORT CUresult cuCheckpointProcessLock(void) {
    return shoal_refuse("cuCheckpointProcessLock");
}

EXPORT CUresult cuCheckpointProcessRestore(void) {
    return shoal_refuse("cuCheckpointProcessRestore");
}

EXPORT CUresult cuCheckpointProcessUnlock(void) {
    return shoal_refuse("cuCheckpointProcessUnlock");
}

EXPORT CUresult cuCoredumpDeregisterCompleteCallback(void) {
    return shoal_refuse("cuCoredumpDeregisterCompleteCallback");
}

EXPORT CUresult cuCoredumpDeregisterStartCallback(void) {
    return shoal_refuse("cuCoredumpDeregisterStartCallback");
}

EXPORT CUresult cuCoredumpGetAttribute(void) {
    return shoal_refuse("cuCoredumpGetAttribute");
}

EXPORT CUresult cuCoredumpGetAttributeGlobal(void) {
    return shoal_refuse("cuCoredumpGetAttributeGlobal");
}

EXPORT CUresult cuCoredumpRegisterCompleteCallback(void) {
    return shoal_refuse("cuCoredumpRegisterCompleteCallback");
}

EXPORT CUresult cuCoredumpRegisterStartCallback(void) {
    return shoal_refuse("cuCoredumpRegisterStartCallback");
}

EXPORT CUresult cuCoredumpSetAttribute(void) {
    return shoal_refuse("cuCoredumpSetAttribute");
}

EXPORT CUresult cuCoredumpSetAttributeGlobal(void) {
    return shoal_refuse("cuCoredumpSetAttributeGlobal");
}

EXPORT CUresult cuCtxAttach(void) {
    return shoal_refuse("cuCtxAttach");
}

EXPORT CUresult cuCtxCreate(void) {
    return shoal_refuse("cuCtxCreate");
}

EXPORT CUresult cuCtxDetach(void) {
    return shoal_refuse("cuCtxDetach");
}

EXPORT CUresult cuCtxDisablePeerAccess(void) {
    return shoal_refuse("cuCtxDisablePeerAccess");
}

EXPORT CUresult cuCtxEnablePeerAccess(void) {
    return shoal_refuse("cuCtxEnablePeerAccess");
}

EXPORT CUresult cuCtxFromGreenCtx(void) {
    return shoal_refuse("cuCtxFromGreenCtx");
}

EXPORT CUresult cuCtxGetDevResource(void) {
    return shoal_refuse("cuCtxGetDevResource");
}

EXPORT CUresult cuCtxGetExecAffinity(void) {
    return shoal_refuse("cuCtxGetExecAffinity");
}

EXPORT CUresult cuCtxRecordEvent(void) {
    return shoal_refuse("cuCtxRecordEvent");
}

EXPORT CUresult cuCtxResetPersistingL2Cache(void) {
    return shoal_refuse("cuCtxResetPersistingL2Cache");
}

EXPORT CUresult cuCtxWaitEvent(void) {
    return shoal_refuse("cuCtxWaitEvent");
}

EXPORT CUresult cuDestroyExternalMemory(void) {
    return shoal_refuse("cuDestroyExternalMemory");
}

EXPORT CUresult cuDestroyExternalSemaphore(void) {
    return shoal_refuse("cuDestroyExternalSemaphore");
}

EXPORT CUresult cuDevResourceGenerateDesc(void) {
    return shoal_refuse("cuDevResourceGenerateDesc");
}

EXPORT CUresult cuDevSmResourceSplit(void) {
    return shoal_refuse("cuDevSmResourceSplit");
}

EXPORT CUresult cuDevSmResourceSplitByCount(void) {
    return shoal_refuse("cuDevSmResourceSplitByCount");
}

EXPORT CUresult cuDeviceGetCliqueCount(void) {
    return shoal_refuse("cuDeviceGetCliqueCount");
}

EXPORT CUresult cuDeviceGetCliqueInfo(void) {
    return shoal_refuse("cuDeviceGetCliqueInfo");
}

EXPORT CUresult cuDeviceGetDefaultMemPool(void) {
    return shoal_refuse("cuDeviceGetDefaultMemPool");
}

EXPORT CUresult cuDeviceGetDevResource(void) {
    return shoal_refuse("cuDeviceGetDevResource");
}

EXPORT CUresult cuDeviceGetExecAffinitySupport(void) {
    return shoal_refuse("cuDeviceGetExecAffinitySupport");
}

EXPORT CUresult cuDeviceGetFabricClusterUuid(void) {
    return shoal_refuse("cuDeviceGetFabricClusterUuid");
}

EXPORT CUresult cuDeviceGetGraphMemAttribute(void) {
    return shoal_refuse("cuDeviceGetGraphMemAttribute");
}

EXPORT CUresult cuDeviceGetHostAtomicCapabilities(void) {
    return shoal_refuse("cuDeviceGetHostAtomicCapabilities");
}

EXPORT CUresult cuDeviceGetLuid(void) {
    return shoal_refuse("cuDeviceGetLuid");
}

EXPORT CUresult cuDeviceGetMemPool(void) {
    return shoal_refuse("cuDeviceGetMemPool");
}

EXPORT CUresult cuDeviceGetNvSciSyncAttributes(void) {
    return shoal_refuse("cuDeviceGetNvSciSyncAttributes");
}

EXPORT CUresult cuDeviceGetP2PAtomicCapabilities(void) {
    return shoal_refuse("cuDeviceGetP2PAtomicCapabilities");
}

EXPORT CUresult cuDeviceGetProperties(void) {
    return shoal_refuse("cuDeviceGetProperties");
}

EXPORT CUresult cuDeviceGetTexture1DLinearMaxWidth(void) {
    return shoal_refuse("cuDeviceGetTexture1DLinearMaxWidth");
}

EXPORT CUresult cuDeviceGraphMemTrim(void) {
    return shoal_refuse("cuDeviceGraphMemTrim");
}

EXPORT CUresult cuDeviceRegisterAsyncNotification(void) {
    return shoal_refuse("cuDeviceRegisterAsyncNotification");
}

EXPORT CUresult cuDeviceSetGraphMemAttribute(void) {
    return shoal_refuse("cuDeviceSetGraphMemAttribute");
}

EXPORT CUresult cuDeviceSetMemPool(void) {
    return shoal_refuse("cuDeviceSetMemPool");
}

EXPORT CUresult cuDeviceTotalMem(void) {
    return shoal_refuse("cuDeviceTotalMem");
}

EXPORT CUresult cuDeviceUnregisterAsyncNotification(void) {
    return shoal_refuse("cuDeviceUnregisterAsyncNotification");
}

EXPORT CUresult cuExternalMemoryGetMappedBuffer(void) {
    return shoal_refuse("cuExternalMemoryGetMappedBuffer");
}

EXPORT CUresult cuExternalMemoryGetMappedMipmappedArray(void) {
    return shoal_refuse("cuExternalMemoryGetMappedMipmappedArray");
}

EXPORT CUresult cuFabricCpyBatchAsync(void) {
    return shoal_refuse("cuFabricCpyBatchAsync");
}

EXPORT CUresult cuFabricCpyBatchAsync_ptsz(void) {
    return shoal_refuse("cuFabricCpyBatchAsync_ptsz");
}

EXPORT CUresult cuFlushGPUDirectRDMAWrites(void) {
    return shoal_refuse("cuFlushGPUDirectRDMAWrites");
}

EXPORT CUresult cuFuncSetBlockShape(void) {
    return shoal_refuse("cuFuncSetBlockShape");
}

EXPORT CUresult cuFuncSetSharedSize(void) {
    return shoal_refuse("cuFuncSetSharedSize");
}

EXPORT CUresult cuGetExportTable(void) {
    return shoal_refuse("cuGetExportTable");
}

EXPORT CUresult cuGraphAddBatchMemOpNode(void) {
    return shoal_refuse("cuGraphAddBatchMemOpNode");
}

EXPORT CUresult cuGraphAddChildGraphNode(void) {
    return shoal_refuse("cuGraphAddChildGraphNode");
}

EXPORT CUresult cuGraphAddDependencies(void) {
    return shoal_refuse("cuGraphAddDependencies");
}

EXPORT CUresult cuGraphAddDependencies_v2(void) {
    return shoal_refuse("cuGraphAddDependencies_v2");
}

EXPORT CUresult cuGraphAddEmptyNode(void) {
    return shoal_refuse("cuGraphAddEmptyNode");
}

EXPORT CUresult cuGraphAddEventRecordNode(void) {
    return shoal_refuse("cuGraphAddEventRecordNode");
}

EXPORT CUresult cuGraphAddEventWaitNode(void) {
    return shoal_refuse("cuGraphAddEventWaitNode");
}

EXPORT CUresult cuGraphAddExternalSemaphoresSignalNode(void) {
    return shoal_refuse("cuGraphAddExternalSemaphoresSignalNode");
}

EXPORT CUresult cuGraphAddExternalSemaphoresWaitNode(void) {
    return shoal_refuse("cuGraphAddExternalSemaphoresWaitNode");
}

EXPORT CUresult cuGraphAddHostNode(void) {
    return shoal_refuse("cuGraphAddHostNode");
}

EXPORT CUresult cuGraphAddKernelNode(void) {
    return shoal_refuse("cuGraphAddKernelNode");
}

EXPORT CUresult cuGraphAddKernelNode_v2(void) {
    return shoal_refuse("cuGraphAddKernelNode_v2");
}

EXPORT CUresult cuGraphAddMemAllocNode(void) {
    return shoal_refuse("cuGraphAddMemAllocNode");
}

EXPORT CUresult cuGraphAddMemFreeNode(void) {
    return shoal_refuse("cuGraphAddMemFreeNode");
}

EXPORT CUresult cuGraphAddMemcpyNode(void) {
    return shoal_refuse("cuGraphAddMemcpyNode");
}

EXPORT CUresult cuGraphAddMemsetNode(void) {
    return shoal_refuse("cuGraphAddMemsetNode");
}

EXPORT CUresult cuGraphAddNode(void) {
    return shoal_refuse("cuGraphAddNode");
}

EXPORT CUresult cuGraphAddNode_v2(void) {
    return shoal_refuse("cuGraphAddNode_v2");
}

EXPORT CUresult cuGraphAddNode_v3(void) {
    return shoal_refuse("cuGraphAddNode_v3");
}

EXPORT CUresult cuGraphBatchMemOpNodeGetParams(void) {
    return shoal_refuse("cuGraphBatchMemOpNodeGetParams");
}

EXPORT CUresult cuGraphBatchMemOpNodeSetParams(void) {
    return shoal_refuse("cuGraphBatchMemOpNodeSetParams");
}

EXPORT CUresult cuGraphChildGraphNodeGetGraph(void) {
    return shoal_refuse("cuGraphChildGraphNodeGetGraph");
}

EXPORT CUresult cuGraphClone(void) {
    return shoal_refuse("cuGraphClone");
}

EXPORT CUresult cuGraphConditionalHandleCreate(void) {
    return shoal_refuse("cuGraphConditionalHandleCreate");
}

EXPORT CUresult cuGraphCreate(void) {
    return shoal_refuse("cuGraphCreate");
}

EXPORT CUresult cuGraphDebugDotPrint(void) {
    return shoal_refuse("cuGraphDebugDotPrint");
}

EXPORT CUresult cuGraphDestroy(void) {
    return shoal_refuse("cuGraphDestroy");
}

EXPORT CUresult cuGraphDestroyNode(void) {
    return shoal_refuse("cuGraphDestroyNode");
}

EXPORT CUresult cuGraphEventRecordNodeGetEvent(void) {
    return shoal_refuse("cuGraphEventRecordNodeGetEvent");
}

EXPORT CUresult cuGraphEventRecordNodeSetEvent(void) {
    return shoal_refuse("cuGraphEventRecordNodeSetEvent");
}

EXPORT CUresult cuGraphEventWaitNodeGetEvent(void) {
    return shoal_refuse("cuGraphEventWaitNodeGetEvent");
}

EXPORT CUresult cuGraphEventWaitNodeSetEvent(void) {
    return shoal_refuse("cuGraphEventWaitNodeSetEvent");
}

EXPORT CUresult cuGraphExecBatchMemOpNodeSetParams(void) {
    return shoal_refuse("cuGraphExecBatchMemOpNodeSetParams");
}

EXPORT CUresult cuGraphExecChildGraphNodeSetParams(void) {
    return shoal_refuse("cuGraphExecChildGraphNodeSetParams");
}

EXPORT CUresult cuGraphExecDestroy(void) {
    return shoal_refuse("cuGraphExecDestroy");
}

EXPORT CUresult cuGraphExecEventRecordNodeSetEvent(void) {
    return shoal_refuse("cuGraphExecEventRecordNodeSetEvent");
}

EXPORT CUresult cuGraphExecEventWaitNodeSetEvent(void) {
    return shoal_refuse("cuGraphExecEventWaitNodeSetEvent");
}

EXPORT CUresult cuGraphExecExternalSemaphoresSignalNodeSetParams(void) {
    return shoal_refuse("cuGraphExecExternalSemaphoresSignalNodeSetParams");
}

EXPORT CUresult cuGraphExecExternalSemaphoresWaitNodeSetParams(void) {
    return shoal_refuse("cuGraphExecExternalSemaphoresWaitNodeSetParams");
}

EXPORT CUresult cuGraphExecGetFlags(void) {
    return shoal_refuse("cuGraphExecGetFlags");
}

EXPORT CUresult cuGraphExecGetId(void) {
    return shoal_refuse("cuGraphExecGetId");
}

EXPORT CUresult cuGraphExecHostNodeSetParams(void) {
    return shoal_refuse("cuGraphExecHostNodeSetParams");
}

EXPORT CUresult cuGraphExecKernelNodeSetParams(void) {
    return shoal_refuse("cuGraphExecKernelNodeSetParams");
}

EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(void) {
    return shoal_refuse("cuGraphExecKernelNodeSetParams_v2");
}

EXPORT CUresult cuGraphExecMemcpyNodeSetParams(void) {
    return shoal_refuse("cuGraphExecMemcpyNodeSetParams");
}

EXPORT CUresult cuGraphExecMemsetNodeSetParams(void) {
    return shoal_refuse("cuGraphExecMemsetNodeSetParams");
}

EXPORT CUresult cuGraphExecNodeSetParams(void) {
    return shoal_refuse("cuGraphExecNodeSetParams");
}

EXPORT CUresult cuGraphExecUpdate(void) {
    return shoal_refuse("cuGraphExecUpdate");
}

EXPORT CUresult cuGraphExecUpdate_v2(void) {
    return shoal_refuse("cuGraphExecUpdate_v2");
}

EXPORT CUresult cuGraphExternalSemaphoresSignalNodeGetParams(void) {
    return shoal_refuse("cuGraphExternalSemaphoresSignalNodeGetParams");
}

EXPORT CUresult cuGraphExternalSemaphoresSignalNodeSetParams(void) {
    return shoal_refuse("cuGraphExternalSemaphoresSignalNodeSetParams");
}

EXPORT CUresult cuGraphExternalSemaphoresWaitNodeGetParams(void) {
    return shoal_refuse("cuGraphExternalSemaphoresWaitNodeGetParams");
}

EXPORT CUresult cuGraphExternalSemaphoresWaitNodeSetParams(void) {
    return shoal_refuse("cuGraphExternalSemaphoresWaitNodeSetParams");
}

EXPORT CUresult cuGraphGetEdges(void) {
    return shoal_refuse("cuGraphGetEdges");
}

EXPORT CUresult cuGraphGetEdges_v2(void) {
    return shoal_refuse("cuGraphGetEdges_v2");
}

EXPORT CUresult cuGraphGetId(void) {
    return shoal_refuse("cuGraphGetId");
}

EXPORT CUresult cuGraphGetNodes(void) {
    return shoal_refuse("cuGraphGetNodes");
}

EXPORT CUresult cuGraphGetRootNodes(void) {
    return shoal_refuse("cuGraphGetRootNodes");
}

EXPORT CUresult cuGraphHostNodeGetParams(void) {
    return shoal_refuse("cuGraphHostNodeGetParams");
}

EXPORT CUresult cuGraphHostNodeSetParams(void) {
    return shoal_refuse("cuGraphHostNodeSetParams");
}

EXPORT CUresult cuGraphInstantiate(void) {
    return shoal_refuse("cuGraphInstantiate");
}

EXPORT CUresult cuGraphInstantiateWithFlags(void) {
    return shoal_refuse("cuGraphInstantiateWithFlags");
}

EXPORT CUresult cuGraphInstantiateWithParams(void) {
    return shoal_refuse("cuGraphInstantiateWithParams");
}

EXPORT CUresult cuGraphInstantiateWithParams_ptsz(void) {
    return shoal_refuse("cuGraphInstantiateWithParams_ptsz");
}

EXPORT CUresult cuGraphInstantiate_v2(void) {
    return shoal_refuse("cuGraphInstantiate_v2");
}

EXPORT CUresult cuGraphKernelNodeCopyAttributes(void) {
    return shoal_refuse("cuGraphKernelNodeCopyAttributes");
}

EXPORT CUresult cuGraphKernelNodeGetAttribute(void) {
    return shoal_refuse("cuGraphKernelNodeGetAttribute");
}

EXPORT CUresult cuGraphKernelNodeGetParams(void) {
    return shoal_refuse("cuGraphKernelNodeGetParams");
}

EXPORT CUresult cuGraphKernelNodeGetParams_v2(void) {
    return shoal_refuse("cuGraphKernelNodeGetParams_v2");
}

EXPORT CUresult cuGraphKernelNodeSetAttribute(void) {
    return shoal_refuse("cuGraphKernelNodeSetAttribute");
}

EXPORT CUresult cuGraphKernelNodeSetParams(void) {
    return shoal_refuse("cuGraphKernelNodeSetParams");
}

EXPORT CUresult cuGraphKernelNodeSetParams_v2(void) {
    return shoal_refuse("cuGraphKernelNodeSetParams_v2");
}

EXPORT CUresult cuGraphLaunch(void) {
    return shoal_refuse("cuGraphLaunch");
}

EXPORT CUresult cuGraphLaunch_ptsz(void) {
    return shoal_refuse("cuGraphLaunch_ptsz");
}

EXPORT CUresult cuGraphMemAllocNodeGetParams(void) {
    return shoal_refuse("cuGraphMemAllocNodeGetParams");
}

EXPORT CUresult cuGraphMemFreeNodeGetParams(void) {
    return shoal_refuse("cuGraphMemFreeNodeGetParams");
}

EXPORT CUresult cuGraphMemcpyNodeGetParams(void) {
    return shoal_refuse("cuGraphMemcpyNodeGetParams");
}

EXPORT CUresult cuGraphMemcpyNodeSetParams(void) {
    return shoal_refuse("cuGraphMemcpyNodeSetParams");
}

EXPORT CUresult cuGraphMemsetNodeGetParams(void) {
    return shoal_refuse("cuGraphMemsetNodeGetParams");
}

EXPORT CUresult cuGraphMemsetNodeSetParams(void) {
    return shoal_refuse("cuGraphMemsetNodeSetParams");
}

EXPORT CUresult cuGraphNodeFindInClone(void) {
    return shoal_refuse("cuGraphNodeFindInClone");
}

EXPORT CUresult cuGraphNodeGetContainingGraph(void) {
    return shoal_refuse("cuGraphNodeGetContainingGraph");
}

EXPORT CUresult cuGraphNodeGetDependencies(void) {
    return shoal_refuse("cuGraphNodeGetDependencies");
}

EXPORT CUresult cuGraphNodeGetDependencies_v2(void) {
    return shoal_refuse("cuGraphNodeGetDependencies_v2");
}

EXPORT CUresult cuGraphNodeGetDependentNodes(void) {
    return shoal_refuse("cuGraphNodeGetDependentNodes");
}

EXPORT CUresult cuGraphNodeGetDependentNodes_v2(void) {
    return shoal_refuse("cuGraphNodeGetDependentNodes_v2");
}

EXPORT CUresult cuGraphNodeGetEnabled(void) {
    return shoal_refuse("cuGraphNodeGetEnabled");
}

EXPORT CUresult cuGraphNodeGetLocalId(void) {
    return shoal_refuse("cuGraphNodeGetLocalId");
}

EXPORT CUresult cuGraphNodeGetParams(void) {
    return shoal_refuse("cuGraphNodeGetParams");
}

EXPORT CUresult cuGraphNodeGetToolsId(void) {
    return shoal_refuse("cuGraphNodeGetToolsId");
}

EXPORT CUresult cuGraphNodeGetType(void) {
    return shoal_refuse("cuGraphNodeGetType");
}

EXPORT CUresult cuGraphNodeSetEnabled(void) {
    return shoal_refuse("cuGraphNodeSetEnabled");
}

EXPORT CUresult cuGraphNodeSetParams(void) {
    return shoal_refuse("cuGraphNodeSetParams");
}

EXPORT CUresult cuGraphNodeSetParams_v2(void) {
    return shoal_refuse("cuGraphNodeSetParams_v2");
}

EXPORT CUresult cuGraphReleaseUserObject(void) {
    return shoal_refuse("cuGraphReleaseUserObject");
}

EXPORT CUresult cuGraphRemoveDependencies(void) {
    return shoal_refuse("cuGraphRemoveDependencies");
}

EXPORT CUresult cuGraphRemoveDependencies_v2(void) {
    return shoal_refuse("cuGraphRemoveDependencies_v2");
}

EXPORT CUresult cuGraphRetainUserObject(void) {
    return shoal_refuse("cuGraphRetainUserObject");
}

EXPORT CUresult cuGraphUpload(void) {
    return shoal_refuse("cuGraphUpload");
}

EXPORT CUresult cuGraphUpload_ptsz(void) {
    return shoal_refuse("cuGraphUpload_ptsz");
}

EXPORT CUresult cuGraphicsMapResources(void) {
    return shoal_refuse("cuGraphicsMapResources");
}

EXPORT CUresult cuGraphicsMapResources_ptsz(void) {
    return shoal_refuse("cuGraphicsMapResources_ptsz");
}

EXPORT CUresult cuGraphicsResourceGetMappedMipmappedArray(void) {
    return shoal_refuse("cuGraphicsResourceGetMappedMipmappedArray");
}

EXPORT CUresult cuGraphicsResourceGetMappedPointer(void) {
    return shoal_refuse("cuGraphicsResourceGetMappedPointer");
}

EXPORT CUresult cuGraphicsResourceGetMappedPointer_v2(void) {
    return shoal_refuse("cuGraphicsResourceGetMappedPointer_v2");
}

EXPORT CUresult cuGraphicsResourceSetMapFlags(void) {
    return shoal_refuse("cuGraphicsResourceSetMapFlags");
}

EXPORT CUresult cuGraphicsResourceSetMapFlags_v2(void) {
    return shoal_refuse("cuGraphicsResourceSetMapFlags_v2");
}

EXPORT CUresult cuGraphicsSubResourceGetMappedArray(void) {
    return shoal_refuse("cuGraphicsSubResourceGetMappedArray");
}

EXPORT CUresult cuGraphicsUnmapResources(void) {
    return shoal_refuse("cuGraphicsUnmapResources");
}

EXPORT CUresult cuGraphicsUnmapResources_ptsz(void) {
    return shoal_refuse("cuGraphicsUnmapResources_ptsz");
}

EXPORT CUresult cuGraphicsUnregisterResource(void) {
    return shoal_refuse("cuGraphicsUnregisterResource");
}

EXPORT CUresult cuGreenCtxCreate(void) {
    return shoal_refuse("cuGreenCtxCreate");
}

EXPORT CUresult cuGreenCtxDestroy(void) {
    return shoal_refuse("cuGreenCtxDestroy");
}

EXPORT CUresult cuGreenCtxGetDevResource(void) {
    return shoal_refuse("cuGreenCtxGetDevResource");
}

EXPORT CUresult cuGreenCtxGetId(void) {
    return shoal_refuse("cuGreenCtxGetId");
}

EXPORT CUresult cuGreenCtxRecordEvent(void) {
    return shoal_refuse("cuGreenCtxRecordEvent");
}

EXPORT CUresult cuGreenCtxStreamCreate(void) {
    return shoal_refuse("cuGreenCtxStreamCreate");
}

EXPORT CUresult cuGreenCtxWaitEvent(void) {
    return shoal_refuse("cuGreenCtxWaitEvent");
}

EXPORT CUresult cuImportExternalMemory(void) {
    return shoal_refuse("cuImportExternalMemory");
}

EXPORT CUresult cuImportExternalSemaphore(void) {
    return shoal_refuse("cuImportExternalSemaphore");
}

EXPORT CUresult cuIpcCloseMemHandle(void) {
    return shoal_refuse("cuIpcCloseMemHandle");
}

EXPORT CUresult cuIpcGetEventHandle(void) {
    return shoal_refuse("cuIpcGetEventHandle");
}

EXPORT CUresult cuIpcGetMemHandle(void) {
    return shoal_refuse("cuIpcGetMemHandle");
}

EXPORT CUresult cuIpcOpenEventHandle(void) {
    return shoal_refuse("cuIpcOpenEventHandle");
}

EXPORT CUresult cuIpcOpenMemHandle(void) {
    return shoal_refuse("cuIpcOpenMemHandle");
}

EXPORT CUresult cuIpcOpenMemHandle_v2(void) {
    return shoal_refuse("cuIpcOpenMemHandle_v2");
}

EXPORT CUresult cuLaunch(void) {
    return shoal_refuse("cuLaunch");
}

EXPORT CUresult cuLaunchCooperativeKernel(void) {
    return shoal_refuse("cuLaunchCooperativeKernel");
}

EXPORT CUresult cuLaunchCooperativeKernelMultiDevice(void) {
    return shoal_refuse("cuLaunchCooperativeKernelMultiDevice");
}

EXPORT CUresult cuLaunchCooperativeKernel_ptsz(void) {
    return shoal_refuse("cuLaunchCooperativeKernel_ptsz");
}

EXPORT CUresult cuLaunchGrid(void) {
    return shoal_refuse("cuLaunchGrid");
}

EXPORT CUresult cuLaunchGridAsync(void) {
    return shoal_refuse("cuLaunchGridAsync");
}

EXPORT CUresult cuLibraryGetManaged(void) {
    return shoal_refuse("cuLibraryGetManaged");
}

EXPORT CUresult cuLibraryGetUnifiedFunction(void) {
    return shoal_refuse("cuLibraryGetUnifiedFunction");
}

EXPORT CUresult cuLogicalEndpointAddDevice(void) {
    return shoal_refuse("cuLogicalEndpointAddDevice");
}

EXPORT CUresult cuLogicalEndpointBindAddr(void) {
    return shoal_refuse("cuLogicalEndpointBindAddr");
}

EXPORT CUresult cuLogicalEndpointBindMem(void) {
    return shoal_refuse("cuLogicalEndpointBindMem");
}

EXPORT CUresult cuLogicalEndpointCreate(void) {
    return shoal_refuse("cuLogicalEndpointCreate");
}

EXPORT CUresult cuLogicalEndpointDestroy(void) {
    return shoal_refuse("cuLogicalEndpointDestroy");
}

EXPORT CUresult cuLogicalEndpointExport(void) {
    return shoal_refuse("cuLogicalEndpointExport");
}

EXPORT CUresult cuLogicalEndpointGetLimits(void) {
    return shoal_refuse("cuLogicalEndpointGetLimits");
}

EXPORT CUresult cuLogicalEndpointIdRelease(void) {
    return shoal_refuse("cuLogicalEndpointIdRelease");
}

EXPORT CUresult cuLogicalEndpointIdReserve(void) {
    return shoal_refuse("cuLogicalEndpointIdReserve");
}

EXPORT CUresult cuLogicalEndpointImport(void) {
    return shoal_refuse("cuLogicalEndpointImport");
}

EXPORT CUresult cuLogicalEndpointQuery(void) {
    return shoal_refuse("cuLogicalEndpointQuery");
}

EXPORT CUresult cuLogicalEndpointUnbind(void) {
    return shoal_refuse("cuLogicalEndpointUnbind");
}

EXPORT CUresult cuLogsCurrent(void) {
    return shoal_refuse("cuLogsCurrent");
}

EXPORT CUresult cuLogsDumpToFile(void) {
    return shoal_refuse("cuLogsDumpToFile");
}

EXPORT CUresult cuLogsDumpToMemory(void) {
    return shoal_refuse("cuLogsDumpToMemory");
}

EXPORT CUresult cuLogsRegisterCallback(void) {
    return shoal_refuse("cuLogsRegisterCallback");
}

EXPORT CUresult cuLogsUnregisterCallback(void) {
    return shoal_refuse("cuLogsUnregisterCallback");
}

EXPORT CUresult cuMemAddressFree(void) {
    return shoal_refuse("cuMemAddressFree");
}

EXPORT CUresult cuMemAddressReserve(void) {
    return shoal_refuse("cuMemAddressReserve");
}

EXPORT CUresult cuMemAdvise(void) {
    return shoal_refuse("cuMemAdvise");
}

EXPORT CUresult cuMemAdvise_v2(void) {
    return shoal_refuse("cuMemAdvise_v2");
}

EXPORT CUresult cuMemAlloc(void) {
    return shoal_refuse("cuMemAlloc");
}

EXPORT CUresult cuMemAllocFromPoolAsync(void) {
    return shoal_refuse("cuMemAllocFromPoolAsync");
}

EXPORT CUresult cuMemAllocFromPoolAsync_ptsz(void) {
    return shoal_refuse("cuMemAllocFromPoolAsync_ptsz");
}

EXPORT CUresult cuMemAllocHost(void) {
    return shoal_refuse("cuMemAllocHost");
}

EXPORT CUresult cuMemAllocManaged(void) {
    return shoal_refuse("cuMemAllocManaged");
}

EXPORT CUresult cuMemAllocPitch(void) {
    return shoal_refuse("cuMemAllocPitch");
}

EXPORT CUresult cuMemBatchDecompressAsync(void) {
    return shoal_refuse("cuMemBatchDecompressAsync");
}

EXPORT CUresult cuMemBatchDecompressAsync_ptsz(void) {
    return shoal_refuse("cuMemBatchDecompressAsync_ptsz");
}

EXPORT CUresult cuMemCreate(void) {
    return shoal_refuse("cuMemCreate");
}

EXPORT CUresult cuMemDiscardAndPrefetchBatchAsync(void) {
    return shoal_refuse("cuMemDiscardAndPrefetchBatchAsync");
}

EXPORT CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(void) {
    return shoal_refuse("cuMemDiscardAndPrefetchBatchAsync_ptsz");
}

EXPORT CUresult cuMemDiscardBatchAsync(void) {
    return shoal_refuse("cuMemDiscardBatchAsync");
}

EXPORT CUresult cuMemDiscardBatchAsync_ptsz(void) {
    return shoal_refuse("cuMemDiscardBatchAsync_ptsz");
}

EXPORT CUresult cuMemExportToShareableHandle(void) {
    return shoal_refuse("cuMemExportToShareableHandle");
}

EXPORT CUresult cuMemFree(void) {
    return shoal_refuse("cuMemFree");
}

EXPORT CUresult cuMemGetAccess(void) {
    return shoal_refuse("cuMemGetAccess");
}

EXPORT CUresult cuMemGetAddressRange(void) {
    return shoal_refuse("cuMemGetAddressRange");
}

EXPORT CUresult cuMemGetAllocationGranularity(void) {
    return shoal_refuse("cuMemGetAllocationGranularity");
}

EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(void) {
    return shoal_refuse("cuMemGetAllocationPropertiesFromHandle");
}

EXPORT CUresult cuMemGetDefaultMemPool(void) {
    return shoal_refuse("cuMemGetDefaultMemPool");
}

EXPORT CUresult cuMemGetHandleForAddressRange(void) {
    return shoal_refuse("cuMemGetHandleForAddressRange");
}

EXPORT CUresult cuMemGetInfo(void) {
    return shoal_refuse("cuMemGetInfo");
}

EXPORT CUresult cuMemGetLocationInfo(void) {
    return shoal_refuse("cuMemGetLocationInfo");
}

EXPORT CUresult cuMemGetMemPool(void) {
    return shoal_refuse("cuMemGetMemPool");
}

EXPORT CUresult cuMemHostGetDevicePointer(void) {
    return shoal_refuse("cuMemHostGetDevicePointer");
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(void) {
    return shoal_refuse("cuMemHostGetDevicePointer_v2");
}

EXPORT CUresult cuMemImportFromShareableHandle(void) {
    return shoal_refuse("cuMemImportFromShareableHandle");
}

EXPORT CUresult cuMemMap(void) {
    return shoal_refuse("cuMemMap");
}

EXPORT CUresult cuMemMapArrayAsync(void) {
    return shoal_refuse("cuMemMapArrayAsync");
}

EXPORT CUresult cuMemMapArrayAsync_ptsz(void) {
    return shoal_refuse("cuMemMapArrayAsync_ptsz");
}

EXPORT CUresult cuMemPoolCreate(void) {
    return shoal_refuse("cuMemPoolCreate");
}

EXPORT CUresult cuMemPoolDestroy(void) {
    return shoal_refuse("cuMemPoolDestroy");
}

EXPORT CUresult cuMemPoolExportPointer(void) {
    return shoal_refuse("cuMemPoolExportPointer");
}

EXPORT CUresult cuMemPoolExportToShareableHandle(void) {
    return shoal_refuse("cuMemPoolExportToShareableHandle");
}

EXPORT CUresult cuMemPoolGetAccess(void) {
    return shoal_refuse("cuMemPoolGetAccess");
}

EXPORT CUresult cuMemPoolGetAttribute(void) {
    return shoal_refuse("cuMemPoolGetAttribute");
}

EXPORT CUresult cuMemPoolImportFromShareableHandle(void) {
    return shoal_refuse("cuMemPoolImportFromShareableHandle");
}

EXPORT CUresult cuMemPoolImportPointer(void) {
    return shoal_refuse("cuMemPoolImportPointer");
}

EXPORT CUresult cuMemPoolSetAccess(void) {
    return shoal_refuse("cuMemPoolSetAccess");
}

EXPORT CUresult cuMemPoolSetAttribute(void) {
    return shoal_refuse("cuMemPoolSetAttribute");
}

EXPORT CUresult cuMemPoolTrimTo(void) {
    return shoal_refuse("cuMemPoolTrimTo");
}

EXPORT CUresult cuMemPrefetchAsync(void) {
    return shoal_refuse("cuMemPrefetchAsync");
}

EXPORT CUresult cuMemPrefetchAsync_ptsz(void) {
    return shoal_refuse("cuMemPrefetchAsync_ptsz");
}

EXPORT CUresult cuMemPrefetchAsync_v2(void) {
    return shoal_refuse("cuMemPrefetchAsync_v2");
}

EXPORT CUresult cuMemPrefetchAsync_v2_ptsz(void) {
    return shoal_refuse("cuMemPrefetchAsync_v2_ptsz");
}

EXPORT CUresult cuMemPrefetchBatchAsync(void) {
    return shoal_refuse("cuMemPrefetchBatchAsync");
}

EXPORT CUresult cuMemPrefetchBatchAsync_ptsz(void) {
    return shoal_refuse("cuMemPrefetchBatchAsync_ptsz");
}

EXPORT CUresult cuMemRangeGetAttribute(void) {
    return shoal_refuse("cuMemRangeGetAttribute");
}

EXPORT CUresult cuMemRangeGetAttributes(void) {
    return shoal_refuse("cuMemRangeGetAttributes");
}

EXPORT CUresult cuMemRelease(void) {
    return shoal_refuse("cuMemRelease");
}

EXPORT CUresult cuMemRetainAllocationHandle(void) {
    return shoal_refuse("cuMemRetainAllocationHandle");
}

EXPORT CUresult cuMemSetAccess(void) {
    return shoal_refuse("cuMemSetAccess");
}

EXPORT CUresult cuMemSetMemPool(void) {
    return shoal_refuse("cuMemSetMemPool");
}

EXPORT CUresult cuMemUnmap(void) {
    return shoal_refuse("cuMemUnmap");
}

EXPORT CUresult cuMemcpy2D(void) {
    return shoal_refuse("cuMemcpy2D");
}

EXPORT CUresult cuMemcpy2DAsync(void) {
    return shoal_refuse("cuMemcpy2DAsync");
}

EXPORT CUresult cuMemcpy2DUnaligned(void) {
    return shoal_refuse("cuMemcpy2DUnaligned");
}

EXPORT CUresult cuMemcpy3D(void) {
    return shoal_refuse("cuMemcpy3D");
}

EXPORT CUresult cuMemcpy3DAsync(void) {
    return shoal_refuse("cuMemcpy3DAsync");
}

EXPORT CUresult cuMemcpy3DAsync_v2(void) {
    return shoal_refuse("cuMemcpy3DAsync_v2");
}

EXPORT CUresult cuMemcpy3DAsync_v2_ptsz(void) {
    return shoal_refuse("cuMemcpy3DAsync_v2_ptsz");
}

EXPORT CUresult cuMemcpy3DBatchAsync(void) {
    return shoal_refuse("cuMemcpy3DBatchAsync");
}

EXPORT CUresult cuMemcpy3DBatchAsync_ptsz(void) {
    return shoal_refuse("cuMemcpy3DBatchAsync_ptsz");
}

EXPORT CUresult cuMemcpy3DBatchAsync_v2(void) {
    return shoal_refuse("cuMemcpy3DBatchAsync_v2");
}

EXPORT CUresult cuMemcpy3DBatchAsync_v2_ptsz(void) {
    return shoal_refuse("cuMemcpy3DBatchAsync_v2_ptsz");
}

EXPORT CUresult cuMemcpy3DPeer(void) {
    return shoal_refuse("cuMemcpy3DPeer");
}

EXPORT CUresult cuMemcpy3DPeerAsync(void) {
    return shoal_refuse("cuMemcpy3DPeerAsync");
}

EXPORT CUresult cuMemcpy3DPeerAsync_ptsz(void) {
    return shoal_refuse("cuMemcpy3DPeerAsync_ptsz");
}

EXPORT CUresult cuMemcpy3DPeer_ptds(void) {
    return shoal_refuse("cuMemcpy3DPeer_ptds");
}

EXPORT CUresult cuMemcpy3DWithAttributesAsync(void) {
    return shoal_refuse("cuMemcpy3DWithAttributesAsync");
}

EXPORT CUresult cuMemcpy3DWithAttributesAsync_ptsz(void) {
    return shoal_refuse("cuMemcpy3DWithAttributesAsync_ptsz");
}

EXPORT CUresult cuMemcpy3D_v2(void) {
    return shoal_refuse("cuMemcpy3D_v2");
}

EXPORT CUresult cuMemcpy3D_v2_ptds(void) {
    return shoal_refuse("cuMemcpy3D_v2_ptds");
}

EXPORT CUresult cuMemcpyAtoA(void) {
    return shoal_refuse("cuMemcpyAtoA");
}

EXPORT CUresult cuMemcpyAtoA_v2(void) {
    return shoal_refuse("cuMemcpyAtoA_v2");
}

EXPORT CUresult cuMemcpyAtoA_v2_ptds(void) {
    return shoal_refuse("cuMemcpyAtoA_v2_ptds");
}

EXPORT CUresult cuMemcpyAtoD(void) {
    return shoal_refuse("cuMemcpyAtoD");
}

EXPORT CUresult cuMemcpyAtoD_v2(void) {
    return shoal_refuse("cuMemcpyAtoD_v2");
}

EXPORT CUresult cuMemcpyAtoD_v2_ptds(void) {
    return shoal_refuse("cuMemcpyAtoD_v2_ptds");
}

EXPORT CUresult cuMemcpyAtoH(void) {
    return shoal_refuse("cuMemcpyAtoH");
}

EXPORT CUresult cuMemcpyAtoHAsync(void) {
    return shoal_refuse("cuMemcpyAtoHAsync");
}

EXPORT CUresult cuMemcpyAtoHAsync_v2(void) {
    return shoal_refuse("cuMemcpyAtoHAsync_v2");
}

EXPORT CUresult cuMemcpyAtoHAsync_v2_ptsz(void) {
    return shoal_refuse("cuMemcpyAtoHAsync_v2_ptsz");
}

EXPORT CUresult cuMemcpyAtoH_v2(void) {
    return shoal_refuse("cuMemcpyAtoH_v2");
}

EXPORT CUresult cuMemcpyAtoH_v2_ptds(void) {
    return shoal_refuse("cuMemcpyAtoH_v2_ptds");
}

EXPORT CUresult cuMemcpyBatchAsync(void) {
    return shoal_refuse("cuMemcpyBatchAsync");
}

EXPORT CUresult cuMemcpyBatchAsync_ptsz(void) {
    return shoal_refuse("cuMemcpyBatchAsync_ptsz");
}

EXPORT CUresult cuMemcpyBatchAsync_v2(void) {
    return shoal_refuse("cuMemcpyBatchAsync_v2");
}

EXPORT CUresult cuMemcpyBatchAsync_v2_ptsz(void) {
    return shoal_refuse("cuMemcpyBatchAsync_v2_ptsz");
}

EXPORT CUresult cuMemcpyDtoA(void) {
    return shoal_refuse("cuMemcpyDtoA");
}

EXPORT CUresult cuMemcpyDtoA_v2(void) {
    return shoal_refuse("cuMemcpyDtoA_v2");
}

EXPORT CUresult cuMemcpyDtoA_v2_ptds(void) {
    return shoal_refuse("cuMemcpyDtoA_v2_ptds");
}

EXPORT CUresult cuMemcpyDtoD(void) {
    return shoal_refuse("cuMemcpyDtoD");
}

EXPORT CUresult cuMemcpyDtoDAsync(void) {
    return shoal_refuse("cuMemcpyDtoDAsync");
}

EXPORT CUresult cuMemcpyDtoH(void) {
    return shoal_refuse("cuMemcpyDtoH");
}

EXPORT CUresult cuMemcpyDtoHAsync(void) {
    return shoal_refuse("cuMemcpyDtoHAsync");
}

EXPORT CUresult cuMemcpyHtoA(void) {
    return shoal_refuse("cuMemcpyHtoA");
}

EXPORT CUresult cuMemcpyHtoAAsync(void) {
    return shoal_refuse("cuMemcpyHtoAAsync");
}

EXPORT CUresult cuMemcpyHtoAAsync_v2(void) {
    return shoal_refuse("cuMemcpyHtoAAsync_v2");
}

EXPORT CUresult cuMemcpyHtoAAsync_v2_ptsz(void) {
    return shoal_refuse("cuMemcpyHtoAAsync_v2_ptsz");
}

EXPORT CUresult cuMemcpyHtoA_v2(void) {
    return shoal_refuse("cuMemcpyHtoA_v2");
}

EXPORT CUresult cuMemcpyHtoA_v2_ptds(void) {
    return shoal_refuse("cuMemcpyHtoA_v2_ptds");
}

EXPORT CUresult cuMemcpyHtoD(void) {
    return shoal_refuse("cuMemcpyHtoD");
}

EXPORT CUresult cuMemcpyHtoDAsync(void) {
    return shoal_refuse("cuMemcpyHtoDAsync");
}

EXPORT CUresult cuMemcpyPeer(void) {
    return shoal_refuse("cuMemcpyPeer");
}

EXPORT CUresult cuMemcpyPeerAsync(void) {
    return shoal_refuse("cuMemcpyPeerAsync");
}

EXPORT CUresult cuMemcpyPeerAsync_ptsz(void) {
    return shoal_refuse("cuMemcpyPeerAsync_ptsz");
}

EXPORT CUresult cuMemcpyPeer_ptds(void) {
    return shoal_refuse("cuMemcpyPeer_ptds");
}

EXPORT CUresult cuMemcpyWithAttributesAsync(void) {
    return shoal_refuse("cuMemcpyWithAttributesAsync");
}

EXPORT CUresult cuMemcpyWithAttributesAsync_ptsz(void) {
    return shoal_refuse("cuMemcpyWithAttributesAsync_ptsz");
}

EXPORT CUresult cuMemsetD16(void) {
    return shoal_refuse("cuMemsetD16");
}

EXPORT CUresult cuMemsetD2D16(void) {
    return shoal_refuse("cuMemsetD2D16");
}

EXPORT CUresult cuMemsetD2D32(void) {
    return shoal_refuse("cuMemsetD2D32");
}

EXPORT CUresult cuMemsetD2D8(void) {
    return shoal_refuse("cuMemsetD2D8");
}

EXPORT CUresult cuMemsetD32(void) {
    return shoal_refuse("cuMemsetD32");
}

EXPORT CUresult cuMemsetD8(void) {
    return shoal_refuse("cuMemsetD8");
}

EXPORT CUresult cuMipmappedArrayCreate(void) {
    return shoal_refuse("cuMipmappedArrayCreate");
}

EXPORT CUresult cuMipmappedArrayDestroy(void) {
    return shoal_refuse("cuMipmappedArrayDestroy");
}

EXPORT CUresult cuMipmappedArrayGetLevel(void) {
    return shoal_refuse("cuMipmappedArrayGetLevel");
}

EXPORT CUresult cuMipmappedArrayGetMemoryRequirements(void) {
    return shoal_refuse("cuMipmappedArrayGetMemoryRequirements");
}

EXPORT CUresult cuMipmappedArrayGetSparseProperties(void) {
    return shoal_refuse("cuMipmappedArrayGetSparseProperties");
}

EXPORT CUresult cuModuleGetGlobal(void) {
    return shoal_refuse("cuModuleGetGlobal");
}

EXPORT CUresult cuModuleGetSurfRef(void) {
    return shoal_refuse("cuModuleGetSurfRef");
}

EXPORT CUresult cuModuleGetTexRef(void) {
    return shoal_refuse("cuModuleGetTexRef");
}

EXPORT CUresult cuMulticastAddDevice(void) {
    return shoal_refuse("cuMulticastAddDevice");
}

EXPORT CUresult cuMulticastBindAddr(void) {
    return shoal_refuse("cuMulticastBindAddr");
}

EXPORT CUresult cuMulticastBindAddr_v2(void) {
    return shoal_refuse("cuMulticastBindAddr_v2");
}

EXPORT CUresult cuMulticastBindMem(void) {
    return shoal_refuse("cuMulticastBindMem");
}

EXPORT CUresult cuMulticastBindMem_v2(void) {
    return shoal_refuse("cuMulticastBindMem_v2");
}

EXPORT CUresult cuMulticastCreate(void) {
    return shoal_refuse("cuMulticastCreate");
}

EXPORT CUresult cuMulticastGetGranularity(void) {
    return shoal_refuse("cuMulticastGetGranularity");
}

EXPORT CUresult cuMulticastUnbind(void) {
    return shoal_refuse("cuMulticastUnbind");
}

EXPORT CUresult cuOccupancyAvailableDynamicSMemPerBlock(void) {
    return shoal_refuse("cuOccupancyAvailableDynamicSMemPerBlock");
}

EXPORT CUresult cuOccupancyMaxActiveClusters(void) {
    return shoal_refuse("cuOccupancyMaxActiveClusters");
}

EXPORT CUresult cuOccupancyMaxPotentialBlockSize(void) {
    return shoal_refuse("cuOccupancyMaxPotentialBlockSize");
}

EXPORT CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(void) {
    return shoal_refuse("cuOccupancyMaxPotentialBlockSizeWithFlags");
}

EXPORT CUresult cuOccupancyMaxPotentialClusterSize(void) {
    return shoal_refuse("cuOccupancyMaxPotentialClusterSize");
}

EXPORT CUresult cuParamSetSize(void) {
    return shoal_refuse("cuParamSetSize");
}

EXPORT CUresult cuParamSetTexRef(void) {
    return shoal_refuse("cuParamSetTexRef");
}

EXPORT CUresult cuParamSetf(void) {
    return shoal_refuse("cuParamSetf");
}

EXPORT CUresult cuParamSeti(void) {
    return shoal_refuse("cuParamSeti");
}

EXPORT CUresult cuParamSetv(void) {
    return shoal_refuse("cuParamSetv");
}

EXPORT CUresult cuPointerSetAttribute(void) {
    return shoal_refuse("cuPointerSetAttribute");
}

EXPORT CUresult cuSignalExternalSemaphoresAsync(void) {
    return shoal_refuse("cuSignalExternalSemaphoresAsync");
}

EXPORT CUresult cuSignalExternalSemaphoresAsync_ptsz(void) {
    return shoal_refuse("cuSignalExternalSemaphoresAsync_ptsz");
}

EXPORT CUresult cuStreamAttachMemAsync(void) {
    return shoal_refuse("cuStreamAttachMemAsync");
}

EXPORT CUresult cuStreamAttachMemAsync_ptsz(void) {
    return shoal_refuse("cuStreamAttachMemAsync_ptsz");
}

EXPORT CUresult cuStreamBatchMemOp(void) {
    return shoal_refuse("cuStreamBatchMemOp");
}

EXPORT CUresult cuStreamBatchMemOp_ptsz(void) {
    return shoal_refuse("cuStreamBatchMemOp_ptsz");
}

EXPORT CUresult cuStreamBatchMemOp_v2(void) {
    return shoal_refuse("cuStreamBatchMemOp_v2");
}

EXPORT CUresult cuStreamBatchMemOp_v2_ptsz(void) {
    return shoal_refuse("cuStreamBatchMemOp_v2_ptsz");
}

EXPORT CUresult cuStreamBeginCapture(void) {
    return shoal_refuse("cuStreamBeginCapture");
}

EXPORT CUresult cuStreamBeginCaptureToCig(void) {
    return shoal_refuse("cuStreamBeginCaptureToCig");
}

EXPORT CUresult cuStreamBeginCaptureToCig_ptsz(void) {
    return shoal_refuse("cuStreamBeginCaptureToCig_ptsz");
}

EXPORT CUresult cuStreamBeginCaptureToGraph(void) {
    return shoal_refuse("cuStreamBeginCaptureToGraph");
}

EXPORT CUresult cuStreamBeginCaptureToGraph_ptsz(void) {
    return shoal_refuse("cuStreamBeginCaptureToGraph_ptsz");
}

EXPORT CUresult cuStreamBeginCapture_ptsz(void) {
    return shoal_refuse("cuStreamBeginCapture_ptsz");
}

EXPORT CUresult cuStreamBeginCapture_v2(void) {
    return shoal_refuse("cuStreamBeginCapture_v2");
}

EXPORT CUresult cuStreamBeginCapture_v2_ptsz(void) {
    return shoal_refuse("cuStreamBeginCapture_v2_ptsz");
}

EXPORT CUresult cuStreamBeginRecaptureToGraph(void) {
    return shoal_refuse("cuStreamBeginRecaptureToGraph");
}

EXPORT CUresult cuStreamBeginRecaptureToGraph_ptsz(void) {
    return shoal_refuse("cuStreamBeginRecaptureToGraph_ptsz");
}

EXPORT CUresult cuStreamCopyAttributes(void) {
    return shoal_refuse("cuStreamCopyAttributes");
}

EXPORT CUresult cuStreamCopyAttributes_ptsz(void) {
    return shoal_refuse("cuStreamCopyAttributes_ptsz");
}

EXPORT CUresult cuStreamEndCapture(void) {
    return shoal_refuse("cuStreamEndCapture");
}

EXPORT CUresult cuStreamEndCaptureToCig(void) {
    return shoal_refuse("cuStreamEndCaptureToCig");
}

EXPORT CUresult cuStreamEndCaptureToCig_ptsz(void) {
    return shoal_refuse("cuStreamEndCaptureToCig_ptsz");
}

EXPORT CUresult cuStreamEndCapture_ptsz(void) {
    return shoal_refuse("cuStreamEndCapture_ptsz");
}

EXPORT CUresult cuStreamGetAttribute(void) {
    return shoal_refuse("cuStreamGetAttribute");
}

EXPORT CUresult cuStreamGetAttribute_ptsz(void) {
    return shoal_refuse("cuStreamGetAttribute_ptsz");
}

EXPORT CUresult cuStreamGetCaptureInfo(void) {
    return shoal_refuse("cuStreamGetCaptureInfo");
}

EXPORT CUresult cuStreamGetCaptureInfo_ptsz(void) {
    return shoal_refuse("cuStreamGetCaptureInfo_ptsz");
}

EXPORT CUresult cuStreamGetCaptureInfo_v2(void) {
    return shoal_refuse("cuStreamGetCaptureInfo_v2");
}

EXPORT CUresult cuStreamGetCaptureInfo_v2_ptsz(void) {
    return shoal_refuse("cuStreamGetCaptureInfo_v2_ptsz");
}

EXPORT CUresult cuStreamGetCaptureInfo_v3(void) {
    return shoal_refuse("cuStreamGetCaptureInfo_v3");
}

EXPORT CUresult cuStreamGetCaptureInfo_v3_ptsz(void) {
    return shoal_refuse("cuStreamGetCaptureInfo_v3_ptsz");
}

EXPORT CUresult cuStreamGetCtx_v2(void) {
    return shoal_refuse("cuStreamGetCtx_v2");
}

EXPORT CUresult cuStreamGetCtx_v2_ptsz(void) {
    return shoal_refuse("cuStreamGetCtx_v2_ptsz");
}

EXPORT CUresult cuStreamGetDevResource(void) {
    return shoal_refuse("cuStreamGetDevResource");
}

EXPORT CUresult cuStreamGetDevResource_ptsz(void) {
    return shoal_refuse("cuStreamGetDevResource_ptsz");
}

EXPORT CUresult cuStreamGetGreenCtx(void) {
    return shoal_refuse("cuStreamGetGreenCtx");
}

EXPORT CUresult cuStreamSetAttribute(void) {
    return shoal_refuse("cuStreamSetAttribute");
}

EXPORT CUresult cuStreamSetAttribute_ptsz(void) {
    return shoal_refuse("cuStreamSetAttribute_ptsz");
}

EXPORT CUresult cuStreamUpdateCaptureDependencies(void) {
    return shoal_refuse("cuStreamUpdateCaptureDependencies");
}

EXPORT CUresult cuStreamUpdateCaptureDependencies_ptsz(void) {
    return shoal_refuse("cuStreamUpdateCaptureDependencies_ptsz");
}

EXPORT CUresult cuStreamUpdateCaptureDependencies_v2(void) {
    return shoal_refuse("cuStreamUpdateCaptureDependencies_v2");
}

EXPORT CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(void) {
    return shoal_refuse("cuStreamUpdateCaptureDependencies_v2_ptsz");
}

EXPORT CUresult cuStreamWaitValue32(void) {
    return shoal_refuse("cuStreamWaitValue32");
}

EXPORT CUresult cuStreamWaitValue32_ptsz(void) {
    return shoal_refuse("cuStreamWaitValue32_ptsz");
}

EXPORT CUresult cuStreamWaitValue32_v2(void) {
    return shoal_refuse("cuStreamWaitValue32_v2");
}

EXPORT CUresult cuStreamWaitValue32_v2_ptsz(void) {
    return shoal_refuse("cuStreamWaitValue32_v2_ptsz");
}

EXPORT CUresult cuStreamWaitValue64(void) {
    return shoal_refuse("cuStreamWaitValue64");
}

EXPORT CUresult cuStreamWaitValue64_ptsz(void) {
    return shoal_refuse("cuStreamWaitValue64_ptsz");
}

EXPORT CUresult cuStreamWaitValue64_v2(void) {
    return shoal_refuse("cuStreamWaitValue64_v2");
}

EXPORT CUresult cuStreamWaitValue64_v2_ptsz(void) {
    return shoal_refuse("cuStreamWaitValue64_v2_ptsz");
}

EXPORT CUresult cuStreamWriteValue32(void) {
    return shoal_refuse("cuStreamWriteValue32");
}

EXPORT CUresult cuStreamWriteValue32_ptsz(void) {
    return shoal_refuse("cuStreamWriteValue32_ptsz");
}

EXPORT CUresult cuStreamWriteValue32_v2(void) {
    return shoal_refuse("cuStreamWriteValue32_v2");
}

EXPORT CUresult cuStreamWriteValue32_v2_ptsz(void) {
    return shoal_refuse("cuStreamWriteValue32_v2_ptsz");
}

EXPORT CUresult cuStreamWriteValue64(void) {
    return shoal_refuse("cuStreamWriteValue64");
}

EXPORT CUresult cuStreamWriteValue64_ptsz(void) {
    return shoal_refuse("cuStreamWriteValue64_ptsz");
}

EXPORT CUresult cuStreamWriteValue64_v2(void) {
    return shoal_refuse("cuStreamWriteValue64_v2");
}

EXPORT CUresult cuStreamWriteValue64_v2_ptsz(void) {
    return shoal_refuse("cuStreamWriteValue64_v2_ptsz");
}

EXPORT CUresult cuSurfObjectCreate(void) {
    return shoal_refuse("cuSurfObjectCreate");
}

EXPORT CUresult cuSurfObjectDestroy(void) {
    return shoal_refuse("cuSurfObjectDestroy");
}

EXPORT CUresult cuSurfObjectGetResourceDesc(void) {
    return shoal_refuse("cuSurfObjectGetResourceDesc");
}

EXPORT CUresult cuSurfRefGetArray(void) {
    return shoal_refuse("cuSurfRefGetArray");
}

EXPORT CUresult cuSurfRefSetArray(void) {
    return shoal_refuse("cuSurfRefSetArray");
}

EXPORT CUresult cuTensorMapEncodeIm2col(void) {
    return shoal_refuse("cuTensorMapEncodeIm2col");
}

EXPORT CUresult cuTensorMapEncodeIm2colWide(void) {
    return shoal_refuse("cuTensorMapEncodeIm2colWide");
}

EXPORT CUresult cuTensorMapEncodeTiled(void) {
    return shoal_refuse("cuTensorMapEncodeTiled");
}

EXPORT CUresult cuTensorMapReplaceAddress(void) {
    return shoal_refuse("cuTensorMapReplaceAddress");
}

EXPORT CUresult cuTensorMapSetAllocationClass(void) {
    return shoal_refuse("cuTensorMapSetAllocationClass");
}

EXPORT CUresult cuTexObjectCreate(void) {
    return shoal_refuse("cuTexObjectCreate");
}

EXPORT CUresult cuTexObjectDestroy(void) {
    return shoal_refuse("cuTexObjectDestroy");
}

EXPORT CUresult cuTexObjectGetResourceDesc(void) {
    return shoal_refuse("cuTexObjectGetResourceDesc");
}

EXPORT CUresult cuTexObjectGetResourceViewDesc(void) {
    return shoal_refuse("cuTexObjectGetResourceViewDesc");
}

EXPORT CUresult cuTexObjectGetTextureDesc(void) {
    return shoal_refuse("cuTexObjectGetTextureDesc");
}

EXPORT CUresult cuTexRefCreate(void) {
    return shoal_refuse("cuTexRefCreate");
}

EXPORT CUresult cuTexRefDestroy(void) {
    return shoal_refuse("cuTexRefDestroy");
}

EXPORT CUresult cuTexRefGetAddress(void) {
    return shoal_refuse("cuTexRefGetAddress");
}

EXPORT CUresult cuTexRefGetAddressMode(void) {
    return shoal_refuse("cuTexRefGetAddressMode");
}

EXPORT CUresult cuTexRefGetAddress_v2(void) {
    return shoal_refuse("cuTexRefGetAddress_v2");
}

EXPORT CUresult cuTexRefGetArray(void) {
    return shoal_refuse("cuTexRefGetArray");
}

EXPORT CUresult cuTexRefGetBorderColor(void) {
    return shoal_refuse("cuTexRefGetBorderColor");
}

EXPORT CUresult cuTexRefGetFilterMode(void) {
    return shoal_refuse("cuTexRefGetFilterMode");
}

EXPORT CUresult cuTexRefGetFlags(void) {
    return shoal_refuse("cuTexRefGetFlags");
}

EXPORT CUresult cuTexRefGetFormat(void) {
    return shoal_refuse("cuTexRefGetFormat");
}

EXPORT CUresult cuTexRefGetMaxAnisotropy(void) {
    return shoal_refuse("cuTexRefGetMaxAnisotropy");
}

EXPORT CUresult cuTexRefGetMipmapFilterMode(void) {
    return shoal_refuse("cuTexRefGetMipmapFilterMode");
}

EXPORT CUresult cuTexRefGetMipmapLevelBias(void) {
    return shoal_refuse("cuTexRefGetMipmapLevelBias");
}

EXPORT CUresult cuTexRefGetMipmapLevelClamp(void) {
    return shoal_refuse("cuTexRefGetMipmapLevelClamp");
}

EXPORT CUresult cuTexRefGetMipmappedArray(void) {
    return shoal_refuse("cuTexRefGetMipmappedArray");
}

EXPORT CUresult cuTexRefSetAddress(void) {
    return shoal_refuse("cuTexRefSetAddress");
}

EXPORT CUresult cuTexRefSetAddress2D(void) {
    return shoal_refuse("cuTexRefSetAddress2D");
}

EXPORT CUresult cuTexRefSetAddress2D_v2(void) {
    return shoal_refuse("cuTexRefSetAddress2D_v2");
}

EXPORT CUresult cuTexRefSetAddress2D_v3(void) {
    return shoal_refuse("cuTexRefSetAddress2D_v3");
}

EXPORT CUresult cuTexRefSetAddressMode(void) {
    return shoal_refuse("cuTexRefSetAddressMode");
}

EXPORT CUresult cuTexRefSetAddress_v2(void) {
    return shoal_refuse("cuTexRefSetAddress_v2");
}

EXPORT CUresult cuTexRefSetArray(void) {
    return shoal_refuse("cuTexRefSetArray");
}

EXPORT CUresult cuTexRefSetBorderColor(void) {
    return shoal_refuse("cuTexRefSetBorderColor");
}

EXPORT CUresult cuTexRefSetFilterMode(void) {
    return shoal_refuse("cuTexRefSetFilterMode");
}

EXPORT CUresult cuTexRefSetFlags(void) {
    return shoal_refuse("cuTexRefSetFlags");
}

EXPORT CUresult cuTexRefSetFormat(void) {
    return shoal_refuse("cuTexRefSetFormat");
}

EXPORT CUresult cuTexRefSetMaxAnisotropy(void) {
    return shoal_refuse("cuTexRefSetMaxAnisotropy");
}

EXPORT CUresult cuTexRefSetMipmapFilterMode(void) {
    return shoal_refuse("cuTexRefSetMipmapFilterMode");
}

EXPORT CUresult cuTexRefSetMipmapLevelBias(void) {
    return shoal_refuse("cuTexRefSetMipmapLevelBias");
}

EXPORT CUresult cuTexRefSetMipmapLevelClamp(void) {
    return shoal_refuse("cuTexRefSetMipmapLevelClamp");
}

EXPORT CUresult cuTexRefSetMipmappedArray(void) {
    return shoal_refuse("cuTexRefSetMipmappedArray");
}

EXPORT CUresult cuThreadExchangeStreamCaptureMode(void) {
    return shoal_refuse("cuThreadExchangeStreamCaptureMode");
}

EXPORT CUresult cuUserObjectCreate(void) {
    return shoal_refuse("cuUserObjectCreate");
}

EXPORT CUresult cuUserObjectRelease(void) {
    return shoal_refuse("cuUserObjectRelease");
}

EXPORT CUresult cuUserObjectRetain(void) {
    return shoal_refuse("cuUserObjectRetain");
}

EXPORT CUresult cuWaitExternalSemaphoresAsync(void) {
    return shoal_refuse("cuWaitExternalSemaphoresAsync");
}

EXPORT CUresult cuWaitExternalSemaphoresAsync_ptsz(void) {
    return shoal_refuse("cuWaitExternalSemaphoresAsync_ptsz");
}
