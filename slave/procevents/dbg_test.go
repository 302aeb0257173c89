package procevents
import ("testing";"errors";"github.com/cilium/ebpf";"os";"fmt")
func TestDbg(t *testing.T){
 spec,_ := loadProcess()
 delete(spec.Programs,"on_fork"); delete(spec.Programs,"on_exit")
 _, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{LogLevel: 2, LogSizeStart: 1<<26}})
 var ve *ebpf.VerifierError
 if errors.As(err,&ve) { os.WriteFile("/tmp/ve.txt", []byte(fmt.Sprintf("%+v", ve)),0644) } 
 if err != nil { s := err.Error(); if len(s)>300 { s=s[:300]}; t.Log(s)}
}
