-- What a site may want: a time limit and an account for each job, long jobs in their own partition.
function slurm_job_submit(job_desc, part_list, submit_uid)
  if job_desc.time_limit == slurm.NO_VAL then
    slurm.log_user("A time limit is needed: --time=HH:MM:SS")
    return slurm.ESLURM_MISSING_TIME_LIMIT
  end
  if job_desc.account == nil then
    job_desc.account = job_desc.default_account
  end
  if job_desc.partition == nil and job_desc.time_limit > 24 * 60 and part_list["long"] ~= nil then
    job_desc.partition = "long"
    slurm.log_info("job of %s goes to the partition long", job_desc.user_name)
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return slurm.SUCCESS
end
